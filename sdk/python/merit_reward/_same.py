"""Whether what a solution gives is what a test expects, but for how numbers are written.

Two numbers are the same if they have the same value, or if one of them is no
integer and they differ by at most the tolerance, relative to the larger or
absolute. What is not finite is the same only as what is written alike.
"""

from __future__ import annotations

import re
from decimal import Decimal
from math import isclose, isfinite

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?", re.ASCII)
WHOLE = re.compile(r"[+-]?[0-9]+", re.ASCII)
LONGEST = 4000  # characters of a number that is read


def check(tolerance: "Any") -> float:
    """The tolerance, which must be one."""
    if isinstance(tolerance, bool) or not isinstance(tolerance, (int, float)) or not 0 <= tolerance < 1:
        raise ValueError(f"tolerance is {tolerance!r}; it must be a number of at least 0 and less than 1")
    return float(tolerance)


def lines(got: str, expected: str, tolerance: float) -> bool:
    """Whether two lines have the same words."""
    ours, theirs = got.split(), expected.split()
    return len(ours) == len(theirs) and all(a == b or _words(a, b, tolerance) for a, b in zip(ours, theirs))


def _words(got: str, expected: str, tolerance: float) -> bool:
    if max(len(got), len(expected)) > LONGEST or not NUMBER.fullmatch(got) or not NUMBER.fullmatch(expected):
        return False
    if Decimal(got) == Decimal(expected):
        return True
    return not (WHOLE.fullmatch(got) and WHOLE.fullmatch(expected)) and _near(float(got), float(expected), tolerance)


def _near(a: float, b: float, tolerance: float) -> bool:
    return tolerance > 0 and isfinite(a) and isfinite(b) and isclose(a, b, rel_tol=tolerance, abs_tol=tolerance)


def values(got: "Any", expected: "Any", tolerance: float) -> bool:
    """Whether two values are equal but for floats within them."""
    if type(got) is list and type(expected) is list:
        return len(got) == len(expected) and all(values(a, b, tolerance) for a, b in zip(got, expected))
    if type(got) is dict and type(expected) is dict:
        return got.keys() == expected.keys() and all(values(v, expected[k], tolerance) for k, v in got.items())
    kinds = {type(got), type(expected)}
    if float in kinds and kinds <= {int, float}:
        return got == expected or _float_near(got, expected, tolerance)
    return bool(got == expected)


def _float_near(a: float, b: float, tolerance: float) -> bool:
    try:
        return _near(float(a), float(b), tolerance)
    except OverflowError:  # an integer beyond all floats
        return False
