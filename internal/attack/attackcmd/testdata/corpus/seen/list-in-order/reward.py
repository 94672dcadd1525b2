import json


def list_reward(completions, ground_truth, **kwargs):
    """1 if the reply is a JSON array with the items of the truth, in order and with the same length."""
    rewards = []
    for completion, truth in zip(completions, ground_truth):
        try:
            items = json.loads(completion)
        except ValueError:
            items = None
        right = isinstance(items, list) and len(items) == len(truth) and all(isinstance(a, str) and a.lower() == b.lower() for a, b in zip(items, truth))
        rewards.append(float(right))
    return rewards
