import re
from fractions import Fraction

ANSWER = re.compile(r"(?:(?!Answer:).)*Answer: (-?[0-9]{1,9}(?:/[1-9][0-9]{0,8}|\.[0-9]{1,9})?)\s*", re.DOTALL)


def accuracy(completion, answer, **kwargs):
    """1 if the reply ends with "Answer: " and a fraction, decimal or integer of the same value."""
    match = ANSWER.fullmatch(completion[-1]["content"])
    return 1.0 if match and Fraction(match.group(1)) == Fraction(answer) else 0.0
