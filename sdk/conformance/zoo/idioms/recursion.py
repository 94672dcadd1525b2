import sys

sys.setrecursionlimit(10_000)


def depth(text, i=0, d=0, most=0):
    """Depth of braces, by recursion over the characters."""
    if i == len(text):
        return most
    d += (text[i] == "{") - (text[i] == "}")
    return depth(text, i + 1, d, max(most, d))


def braces(completions, **kwargs):
    return [float(depth(c[0]["content"])) + depth("{" * 300) / 1000 for c in completions]
