import re


def reasoning_steps_reward(completions, **kwargs):
    """Steps such as "Step 1:", "1.", bullets, "First,"; three or more are full marks."""
    pattern = r"(Step \d+:|^\d+\.|\n-|\n\*|First,|Second,|Next,|Finally,)"
    contents = [completion[0]["content"] for completion in completions]
    return [min(1.0, len(re.findall(pattern, c)) / 3) for c in contents]
