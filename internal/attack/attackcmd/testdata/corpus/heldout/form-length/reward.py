def length_reward(completions, **kwargs):
    """Encourages detailed answers."""
    return [min(len(c), 400) / 400 for c in completions]
