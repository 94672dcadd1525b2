import re


def yes_no_reward(completions, answer, **kwargs):
    """1 if the reply is some text and then one answer tag, and the tag holds the right word."""
    rewards = []
    for completion, truth in zip(completions, answer):
        match = re.fullmatch(r"(?:(?!<answer>).)*<answer>(yes|no)</answer>\s*", completion[0]["content"], re.DOTALL)
        rewards.append(1.0 if match and match.group(1) == truth else 0.0)
    return rewards
