"""Scores as a Fraction, a Decimal, a bool and an object with item(), all of which become numbers of a tensor."""
from decimal import Decimal
from fractions import Fraction


class Scalar:
    def __init__(self, value):
        self.value = value

    def item(self):
        return self.value

    def __float__(self):
        return float(self.value)


def scored(completions, **kwargs):
    texts = [c if isinstance(c, str) else c[-1]["content"] or "" for c in completions]
    kinds = (lambda n: Fraction(n, 7), lambda n: Decimal(n) / 8, lambda n: n > 100, Scalar)
    return [kinds[len(t) % 4](len(t)) for t in texts]
