import json

from eval_protocol import EvaluateResult, reward_function


@reward_function
def tool_match(messages, ground_truth=None, **kwargs):
    if not isinstance(ground_truth, dict) or "name" not in ground_truth:
        return EvaluateResult(score=0.0, is_score_valid=False, reason="no tool is expected")
    calls = [c for m in messages if m.role == "assistant" and m.tool_calls for c in m.tool_calls]
    for c in calls:
        if c["function"]["name"] == ground_truth["name"] and json.loads(c["function"]["arguments"]) == ground_truth["arguments"]:
            return EvaluateResult(score=1.0, reason="called")
    return EvaluateResult(score=0.0, reason="not called")
