import json


def reward(messages, ground_truth=None, **kwargs):
    """The share of fields that are right; 0 if the reply has fields that the truth does not have."""
    try:
        value = json.loads(messages[-1]["content"])
    except ValueError:
        return 0.0
    if not isinstance(value, dict) or not set(value) <= set(ground_truth):
        return 0.0
    right = sum(k in value and type(value[k]) is type(v) and value[k] == v for k, v in ground_truth.items())
    return right / len(ground_truth)
