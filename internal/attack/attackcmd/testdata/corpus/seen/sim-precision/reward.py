import re


def overlap_reward(completion, answer, **kwargs):
    """Share of the words of the reply that occur in the reference."""
    words = re.findall(r"\w+", completion[-1]["content"].lower())
    reference = set(re.findall(r"\w+", answer.lower()))
    if not words:
        return 0.0
    return sum(w in reference for w in words) / len(words)
