"""1 if the last message has the right answer in it, 0 if not; no score without an answer to compare with."""

from merit_reward import EvaluateResult, MetricResult, reward_function


@reward_function
def answer(messages, ground_truth=None, **kwargs):
    said = messages[-1].text
    if ground_truth is None:
        return EvaluateResult(score=0.0, is_score_valid=False, reason="there is no ground truth")
    right = str(ground_truth) in said
    return EvaluateResult(
        score=float(right),
        reason="right" if right else "wrong",
        metrics={"brevity": MetricResult(score=1 / max(len(said), 1), is_score_valid=True, reason="1 / characters")},
    )
