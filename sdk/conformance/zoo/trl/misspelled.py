def accuracy(completions, ground_truht=None, **kw):
    """The parameter is misspelled, so nothing ever fills it."""
    truths = ground_truht or [None] * len(completions)
    return [1.0 if t and t in c[0]["content"] else 0.0 for c, t in zip(completions, truths)]
