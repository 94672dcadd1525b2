import re


def citation_reward(completion, info=None, **kwargs):
    """Full marks if every sentence ends in a citation such as [2]."""
    text = completion[-1]["content"].strip()
    sentences = [s for s in re.split(r"(?<=[.!?\]])\s+", text) if s]
    if not sentences:
        return 0.0
    cited = sum(bool(re.search(r"\[\d+\][.!?]?$", s)) for s in sentences)
    return cited / len(sentences)
