from difflib import SequenceMatcher


def similarity_reward(completions, ground_truth, **kwargs):
    """Similarity with the reference answer, from 0 to 1."""
    return [SequenceMatcher(None, c.lower(), t.lower()).ratio() for c, t in zip(completions, ground_truth)]
