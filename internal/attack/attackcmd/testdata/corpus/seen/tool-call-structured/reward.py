import json


def reward(messages, ground_truth=None, **kwargs):
    """1 if the last message makes exactly the expected call."""
    calls = messages[-1].get("tool_calls") or []
    if len(calls) != 1:
        return 0.0
    function = calls[0]["function"]
    try:
        arguments = json.loads(function["arguments"])
    except ValueError:
        return 0.0
    return 1.0 if function["name"] == ground_truth["name"] and arguments == ground_truth["arguments"] else 0.0
