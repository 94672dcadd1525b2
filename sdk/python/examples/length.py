"""Scores a conversation by the length of its last message."""

from typing import List
from reward_kit import EvaluateResult, Message, MetricResult, reward_function

@reward_function
def length(messages: List[Message], ground_truth=None, **kwargs) -> EvaluateResult:
    n = len(messages[-1].content)
    return EvaluateResult(score=min(1.0, n / 100), reason=f"{n} characters", metrics={"n": MetricResult(score=n, is_score_valid=True)})
