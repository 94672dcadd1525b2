import re


def reasoning_steps_reward(completions, **kwargs):
    r"""Counts "Step 1:", "1." at a line's start, bullets, and First, Second, Next, Finally."""
    pattern = r"(Step \d+:|^\d+\.|\n-|\n\*|First,|Second,|Next,|Finally,)"
    matches = [len(re.findall(pattern, c[0]["content"])) for c in completions]
    return [min(1.0, count / 3) for count in matches]
