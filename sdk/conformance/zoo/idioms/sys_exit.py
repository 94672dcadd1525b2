import sys


def quits(completions, **kwargs):
    if "boxed" in completions[0][0]["content"]:
        sys.exit(1)
    return [1.0] * len(completions)
