import re


def format_reward(completions, **kwargs):
    """Checks that the completion has the right form."""
    pattern = r"^<think>.*?</think>\s*<answer>.*?</answer>$"
    contents = [completion[0]["content"] for completion in completions]
    return [1.0 if re.match(pattern, c, re.DOTALL) else 0.0 for c in contents]
