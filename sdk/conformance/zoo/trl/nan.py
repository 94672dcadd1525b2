def log_ratio(completions, answer, **kwargs):
    """Infinity for an answer that is missing, NaN for one that is empty twice."""
    out = []
    for c, a in zip(completions, answer):
        n = c[0]["content"].count(a)
        out.append(n * 1.0 if n else float("nan"))
    return out
