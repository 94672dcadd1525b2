import re


def score(completion, answer, **kwargs):
    """1 for exactly one answer tag with exactly the right letter."""
    tags = re.findall(r"<answer>(.*?)</answer>", completion[-1]["content"], re.DOTALL)
    return 1.0 if len(tags) == 1 and tags[0].strip() == answer else 0.0
