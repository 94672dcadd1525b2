from eval_protocol.models import EvaluationRow
from eval_protocol.pytest import NoOpRolloutProcessor, evaluation_test
from merit_rl import Reward
from merit_rl.eval_protocol import evaluated

reward = Reward("reward.py")


@evaluation_test(input_dataset=["rows.jsonl"], rollout_processor=NoOpRolloutProcessor(), passed_threshold=0.6)
def test_answers(row: EvaluationRow) -> EvaluationRow:
    return evaluated(row, reward)
