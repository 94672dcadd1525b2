"""How good is an answer to read? Its structure, its depth and its likeness to a reference, 0 to 1 in all.

``structure``   0 to 0.3: 0.1 each for two paragraphs or more, a list of two items or more, a heading or a line that ends in a colon
``depth``       0 to 0.4: 0.2 for different words, up to ``words`` of them, and 0.2 for different words that join reasons, up to four
``similarity``  0 to 0.3: the F1 of the answer's words and those of the ground truth, each as often as it occurs

Parameters, by ``--with``, ``with:`` or a column of the same name: ``words`` (80).
"""

from __future__ import annotations

import re
from collections import Counter

from merit_reward import EvaluateResult, Message, reward_function

__merit__ = {"name": "answer"}
WORD = re.compile(r"[^\W_]+")
PARAGRAPHS = re.compile(r"\n\s*\n")
ITEM = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s+\S", re.MULTILINE)
HEADING = re.compile(r"^(?:#{1,6}\s+\S.*|\S.*:)\s*$", re.MULTILINE)
REASONS = frozenset("because therefore however although since thus hence whereas unless consequently instead otherwise".split())


@reward_function
def reward(messages: list[Message], ground_truth: str | None = None, *, words: int = 80) -> EvaluateResult:
    """The sum of the three parts; invalid where there is no answer, or nothing to compare it with."""
    if words < 1:
        raise ValueError(f"words must be at least 1: {words}")
    said = [m.text for m in messages if m["role"] == "assistant"]
    if not said or not said[-1].strip():
        return invalid("there is no answer")
    if ground_truth is None or not tokens(ground_truth):
        return invalid("there is no reference: the ground truth is missing or has no words")
    parts = {"structure": structure(said[-1]), "depth": depth(said[-1], words), "similarity": similarity(said[-1], ground_truth)}
    return EvaluateResult(score=sum(parts.values()), metrics=parts)


def structure(text: str) -> float:
    """0.1 for each of three signs."""
    signs = len([p for p in PARAGRAPHS.split(text) if p.strip()]) >= 2, len(ITEM.findall(text)) >= 2, HEADING.search(text) is not None
    return sum(signs) / 10


def depth(text: str, enough: int) -> float:
    """How much is said, by different words, and how it hangs together."""
    different = set(tokens(text))
    return 0.2 * min(1.0, len(different) / enough) + 0.2 * min(1.0, len(different & REASONS) / 4)


def similarity(text: str, reference: str) -> float:
    """0.3 times the F1 of two bags of words."""
    a, b = Counter(tokens(text)), Counter(tokens(reference))
    common = (a & b).total()
    return 0.3 * 2 * common / (a.total() + b.total())


def tokens(text: str) -> list[str]:
    """The words of a text, in lower case."""
    return WORD.findall(text.lower())


def invalid(reason: str) -> EvaluateResult:
    """That there is no score."""
    return EvaluateResult(is_score_valid=False, reason=reason)
