from collections import Counter

__merit__ = {"batch": "group"}


def diversity_reward(prompts, completions, **kwargs):
    texts = [c[-1]["content"].strip().lower() for c in completions]
    counts = Counter(texts)
    return [1.0 / counts[t] for t in texts]
