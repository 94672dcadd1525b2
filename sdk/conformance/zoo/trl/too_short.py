def only_right(completions, answer, **kwargs):
    """Leaves out wrong answers, so that the list is too short."""
    return [1.0 for c, a in zip(completions, answer) if a in c[0]["content"]]
