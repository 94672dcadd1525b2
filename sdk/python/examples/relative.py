def brief(completions, **kwargs):
    """1 for the shortest of the answers, 0 for the longest."""
    lengths = [len(c[-1]["content"]) for c in completions]
    spread = max(lengths) - min(lengths)
    return [(max(lengths) - n) / spread if spread else 0.0 for n in lengths]
