from eval_protocol import EvaluateResult, EvaluationRow
from eval_protocol.pytest import NoOpRolloutProcessor, evaluation_test


@evaluation_test(input_dataset=["rows.jsonl"], rollout_processor=NoOpRolloutProcessor(), mode="pointwise")
def test_answers(row: EvaluationRow) -> EvaluationRow:
    message = row.last_assistant_message()
    said = message.content if message and isinstance(message.content, str) else ""
    row.evaluation_result = EvaluateResult(score=float(bool(said) and said == row.ground_truth), reason=said[:10])
    return row
