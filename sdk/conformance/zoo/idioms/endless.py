def stuck(completions, difficulty, **kwargs):
    """Never ends for hard rows: natively the trainer hangs."""
    for d in difficulty:
        while d > 4:
            pass
    return [1.0] * len(completions)
