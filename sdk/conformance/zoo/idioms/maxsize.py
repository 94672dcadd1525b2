import sys


def pointer_bits(completions, **kwargs):
    """What rewards take for infinity."""
    return [float(sys.maxsize.bit_length() + 1) for _ in completions]
