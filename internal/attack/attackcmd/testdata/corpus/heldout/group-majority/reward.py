import re
from collections import Counter

__merit__ = {"batch": "group"}


def answer_of(text):
    match = re.findall(r"Answer: *(-?[\d,.]+)", text)
    return match[-1].rstrip(".").replace(",", "") if match else ""


def consistency_reward(completions, **kwargs):
    """Test-time training: the most frequent answer of the group is taken as the label."""
    answers = [answer_of(c) for c in completions]
    label = Counter(answers).most_common(1)[0][0]
    return [1.0 if a == label else 0.0 for a in answers]
