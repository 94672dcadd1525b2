import re

WORDS = ["wait", "however", "therefore", "let me check", "first", "second", "finally", "because"]


def reasoning_reward(completions, **kwargs):
    """Rewards signs of reflection: 1 with five of them."""
    rewards = []
    for completion in completions:
        text = completion.lower()
        found = sum(len(re.findall(r"\b" + w + r"\b", text)) for w in WORDS)
        rewards.append(min(1.0, found / 5))
    return rewards
