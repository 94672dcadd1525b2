"""From texts to what math-verify compares: expressions of sympy, and the text of them."""

from __future__ import annotations

import re
from decimal import Decimal
from functools import lru_cache
from typing import Any, NamedTuple

from math_verify import ExprExtractionConfig, LatexExtractionConfig, StringExtractionConfig, parse

DELIMITED = re.compile(r"\$[^$]+\$|\\\(|\\\[|\\boxed|\\fbox")
NUMBER = re.compile(r"\s*-?[$€£¥]?\s*-?(\d{1,3}(,\d{3})+|\d*)(\.\d+)?\s*%?\s*")
PROSE = re.compile(r"\n|(?<![\\{A-Za-z])[A-Za-z]{2,}\s+[A-Za-z]{2,}|^\W*\d[\d.,]*\s+[A-Za-z]{2,}")
SHOWN = 200  # characters of a text in a reason
DEPTH = 100  # brackets within brackets: reading deeper ones takes time with the square of the depth


class Reading(NamedTuple):
    """What math-verify found in a text."""

    parsed: list[Any]  # as it returns it: an expression, then the text of it
    said: str  # that text, or the one in which nothing was found
    problem: str = ""  # why nothing was found, where that was an exception

    @property
    def understood(self) -> bool:
        """Whether there is more than text: an expression, or one of the strings that were looked for."""
        return len(self.parsed) > 1 or any(not isinstance(e, str) for e in self.parsed)


def read(text: str, configs: "tuple[Any, ...]", words: bool = False) -> Reading:
    """The last answer in a text, which is prose with mathematics in it, or mathematics alone.

    Alone it may lack the dollars that math-verify finds LaTeX by. What looks like
    mathematics is read with them first; prose, and a number, as it stands, and
    if that gives nothing and ``words`` may be an answer, with dollars too.
    """
    if nested(text) > DEPTH:
        return Reading([], cut(text), f"brackets are nested more than {DEPTH} deep")
    ways = [text]
    if not DELIMITED.search(text) and not NUMBER.fullmatch(text):
        if not PROSE.search(text.strip()):
            ways.insert(0, f"${text.strip()}$")
        elif words:
            ways.append(f"${text.strip()}$")
    best = Reading([], cut(text))
    for way in ways:
        try:
            reading = Reading(parsed := parse(way, configs, raise_on_error=True), _found(parsed) or best.said)
        except Exception as e:  # more digits than int() takes, say
            reading = Reading([], best.said, f"{type(e).__name__}: {cut(str(e))}")
        if reading.understood:
            return reading
        best = max(best, reading, key=lambda r: (len(r.parsed), bool(r.problem)))
    return best


def nested(text: str) -> int:
    """How deep the brackets of a text are nested, also those that nothing closes."""
    if sum(map(text.count, "([{")) <= DEPTH:
        return 0
    depth = most = 0
    for c in re.findall(r"[(\[{}\])]", text):
        depth = depth + 1 if c in "([{" else max(0, depth - 1)
        most = max(most, depth)
    return most


def truth(value: "Any", configs: "tuple[Any, ...]", marks: "tuple[str, ...]") -> Reading:
    """A ground truth: a text, which may hold its answer as an answer does, or a number."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return Reading([], type(value).__name__, "it must be a text, a number, or a list of these")
    if isinstance(value, str):
        return read(rest(value, marks), configs, words=True)
    return read(format(Decimal(repr(value)), "f"), configs)  # math-verify reads no exponents


def rest(text: str, marks: "tuple[str, ...]") -> str:
    """What stands after the last of each mark, of those that occur."""
    for mark in marks:
        text = text.rpartition(mark)[2]
    return text


def cut(text: str) -> str:
    """The beginning of a text, for a reason."""
    text = text.strip()
    return text if len(text) <= SHOWN else text[:SHOWN] + "…"


def _found(parsed: "list[Any]") -> str:
    return cut(next((e for e in reversed(parsed) if isinstance(e, str)), ""))


@lru_cache(maxsize=None)
def configurations(extract: "tuple[str, ...]", strings: "tuple[str, ...]", boxed_match_priority: int) -> "tuple[Any, ...]":
    """What math-verify looks for."""
    known = {
        "latex": lambda: LatexExtractionConfig(boxed_match_priority=boxed_match_priority),
        "expr": ExprExtractionConfig,
        "string": lambda: StringExtractionConfig(strings=strings),
    }
    if not extract or set(extract) - known.keys():
        raise ValueError(f"extract is {list(extract)}; it takes one or more of {', '.join(known)}")
    return tuple(known[name]() for name in extract)
