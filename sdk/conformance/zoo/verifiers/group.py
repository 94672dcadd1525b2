def shortest(completions, answers, states) -> list[float]:
    """A group function: known by its plural names."""
    texts = [c[-1]["content"] for c in completions]
    right = [len(t) for t, a in zip(texts, answers) if a.lower() in t.lower()]
    return [1.0 if a.lower() in t.lower() and len(t) == min(right) else 0.0 for t, a in zip(texts, answers)]
