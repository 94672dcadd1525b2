def sampled(completions, **kwargs):
    """Picks by a hash, which is as wide as a pointer."""
    return [float(hash(len(c[0]["content"]) * 10**12) % 1000) for c in completions]
