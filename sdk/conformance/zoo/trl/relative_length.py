"""Kimi-like: the shortest of a group gets 0.5, the longest −0.5. One completion alone is always 0."""

__merit__ = {"batch": "group"}


def len_reward(completions, answer, **kwargs):
    lengths = [len(c[0]["content"]) for c in completions]
    low, high = min(lengths), max(lengths)
    if low == high:
        return [0.0] * len(completions)
    rewards = []
    for n, c, a in zip(lengths, completions, answer):
        value = 0.5 - (n - low) / (high - low)
        rewards.append(value if a in c[0]["content"] else min(0, value))
    return rewards
