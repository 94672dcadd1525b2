import json


def reward(messages, ground_truth=None, **kwargs):
    """1 if the reply is a JSON object with exactly the fields of the truth; their order does not matter."""
    pairs = []

    def keep(items):
        pairs.extend(items)
        return dict(items)

    try:
        value = json.loads(messages[-1]["content"], object_pairs_hook=keep)
    except ValueError:
        return 0.0
    if not isinstance(value, dict) or len(pairs) != len(value):
        return 0.0
    return 1.0 if value == ground_truth and all(type(value[k]) is type(ground_truth[k]) for k in value) else 0.0
