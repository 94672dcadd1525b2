def is_right(completions, answer, **kwargs):
    return [a in c[0]["content"] for c, a in zip(completions, answer)]
