def scores(completions, answer, **kwargs):
    """A generator, which TRL goes through as through a list."""
    for c, a in zip(completions, answer):
        yield float(a in c[0]["content"])
