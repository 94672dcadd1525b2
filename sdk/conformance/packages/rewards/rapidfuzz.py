from rapidfuzz import fuzz
from rapidfuzz.distance import Levenshtein


def reward(messages, ground_truth):
    said = messages[-1]["content"]
    return fuzz.token_sort_ratio(said, ground_truth) / 100 + Levenshtein.normalized_similarity(said, ground_truth)
