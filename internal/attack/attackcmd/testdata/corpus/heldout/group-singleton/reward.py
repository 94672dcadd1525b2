import re

__merit__ = {"batch": "group"}


def answer_of(text):
    match = re.findall(r"Answer: *(-?[\d,.]+)", text)
    return match[-1].rstrip(".").replace(",", "") if match else None


def ranked_reward(completions, ground_truth, **kwargs):
    """Right replies rank by brevity: the shortest of a group earns 1, the longest 0.5. Wrong ones earn 0."""
    right = [i for i, (c, t) in enumerate(zip(completions, ground_truth)) if answer_of(c) == t]
    order = sorted(range(len(completions)), key=lambda i: len(completions[i]))
    rewards = [0.0] * len(completions)
    for place, i in enumerate(order[:max(1, len(right))]):
        # the first len(right) places are for the right ones
        rewards[i] = 1.0 - 0.5 * place / max(1, len(order) - 1)
    return rewards
