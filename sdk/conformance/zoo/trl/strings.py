def as_text(completions, **kwargs):
    """Scores as texts: torch.tensor refuses them."""
    return ["1.0" if c[0]["content"] else "0.0" for c in completions]
