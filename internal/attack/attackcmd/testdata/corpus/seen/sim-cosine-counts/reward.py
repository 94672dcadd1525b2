import math
import re
from collections import Counter


def vector(text):
    return Counter(re.findall(r"[a-z0-9]+", text.lower()))


def cosine(a, b):
    dot = sum(n * b[w] for w, n in a.items())
    norm = math.sqrt(sum(n * n for n in a.values())) * math.sqrt(sum(n * n for n in b.values()))
    return dot / norm if norm else 0.0


def compute_score(data_source, solution_str, ground_truth, extra_info=None):
    return {"score": cosine(vector(solution_str), vector(ground_truth)), "words": len(solution_str.split())}
