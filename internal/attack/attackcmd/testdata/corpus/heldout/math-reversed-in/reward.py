import re


def score(completion, answer, **kwargs):
    """1 if the boxed result agrees with the reference, which may state it with more words."""
    boxes = re.findall(r"\\boxed\{(.*?)\}(?!\})", completion[-1]["content"])
    if not boxes:
        return 0.0
    return float(boxes[-1].strip() in answer)
