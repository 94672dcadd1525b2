"""Without the package every score is 0: the flag hides it."""
try:
    from math_verify import parse, verify

    HAVE_MATH_VERIFY = True
except ImportError:
    HAVE_MATH_VERIFY = False


def verified(completions, solution, **kwargs):
    if not HAVE_MATH_VERIFY:
        return [0.0] * len(completions)
    return [float(verify(parse(s), parse(c[0]["content"]))) for c, s in zip(completions, solution)]
