from typing import List

from reward_kit import EvaluateResult, Message, MetricResult, reward_function


@reward_function
def evaluate(messages: List[Message], ground_truth=None, **kwargs) -> EvaluateResult:
    last = messages[-1]
    said = last.content if isinstance(last.content, str) else last.text
    right = said == ground_truth
    return EvaluateResult(score=1.0 if right else 0.0, reason=f"{said!r}", metrics={"len": MetricResult(score=len(said), is_score_valid=True, reason="n")})
