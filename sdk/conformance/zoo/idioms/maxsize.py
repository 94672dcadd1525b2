import sys


def pointer_bits(completions, **kwargs):
    """The one thing that shows that integers of C have 32 bits here."""
    return [float(sys.maxsize.bit_length() + 1) for _ in completions]
