import re

__merit__ = {"batch": "group"}


def answer_of(text):
    match = re.fullmatch(r"(?:(?!Answer:).)*Answer: (-?[0-9]{1,15})\s*", text, re.DOTALL)
    return int(match.group(1)) if match else None


def reward(completions, ground_truth, **kwargs):
    """0.9 for a right reply, and up to 0.1 more for being the shorter of the right ones."""
    right = [i for i, (c, t) in enumerate(zip(completions, ground_truth)) if answer_of(c) == int(t)]
    rewards = [0.0] * len(completions)
    longest = max((len(completions[i]) for i in right), default=1)
    for i in right:
        rewards[i] = 0.9 + 0.1 * (1 - len(completions[i]) / longest)
    return rewards
