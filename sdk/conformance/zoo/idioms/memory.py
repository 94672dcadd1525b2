def hungry(completions, difficulty, **kwargs):
    """Takes 4 GB for hard rows."""
    return [1.0 if d < 4 else float(len([0] * (1 << 29))) for d in difficulty]
