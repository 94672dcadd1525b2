"""A test of eval-protocol, which is a reward here."""

from eval_protocol.models import EvaluateResult, EvaluationRow, MetricResult
from eval_protocol.pytest import SingleTurnRolloutProcessor, evaluation_test


@evaluation_test(
    input_dataset=["gsm8k.jsonl"],
    completion_params=[{"model": "some/model", "temperature": 0.0}],
    rollout_processor=SingleTurnRolloutProcessor(),
    passed_threshold=0.8,
)
def test_answer(row: EvaluationRow) -> EvaluationRow:
    said = row.last_assistant_message().content or ""
    right = said.split("####")[-1].strip() == row.ground_truth
    metrics = {"length": MetricResult(score=len(said), is_score_valid=True, reason="characters")}
    row.evaluation_result = EvaluateResult(score=1.0 if right else 0.0, reason="the same" if right else "another", metrics=metrics)
    return row
