import re
from collections import Counter


def rouge1_recall(prediction, reference):
    p = Counter(re.findall(r"\w+", prediction.lower()))
    r = Counter(re.findall(r"\w+", reference.lower()))
    return sum((p & r).values()) / max(1, sum(r.values()))


def summary_reward(prompts, completions, ground_truth, **kwargs):
    return [rouge1_recall(c, t) for c, t in zip(completions, ground_truth)]
