"""How long is the answer? A range with soft edges, DAPO's soft overlong punishment, or the cosine of correct and wrong lengths.

Parameters, by ``--with``, ``with:`` or a column of the same name:

``curve``      ``range`` (the default), ``overlong`` or ``cosine``
``unit``       ``characters`` (default), ``words`` (runs of letters, digits and _), ``whitespace`` (what stands between
               white space), or ``tokens``: the column ``tokens`` says how many there were
``of``         ``last``, the last message of the assistant (default), or ``all`` of its messages together
``minimum``, ``maximum``, ``slack``   of the range: 1 inside, falling to 0 over ``slack`` units on both sides
``maximum``, ``cache``                of ``overlong``
``maximum``, ``correct_short``, ``correct_long``, ``wrong_short``, ``wrong_long``, ``exceeded``   of ``cosine``, which
               also needs the column ``correct``: whether the answer is right
"""

from __future__ import annotations

import math
import re

from merit_reward import EvaluateResult, Message, reward_function

__merit__ = {"name": "length"}
WORD = re.compile(r"\w+")


@reward_function
def reward(
    messages: list[Message],
    *,
    curve: str = "range",
    unit: str = "characters",
    of: str = "last",
    minimum: float = 0,
    maximum: float | None = None,
    slack: float = 0,
    cache: float = 0,
    correct_short: float = 1.0,
    correct_long: float = 0.5,
    wrong_short: float = -1.0,
    wrong_long: float = -0.5,
    exceeded: float | None = None,
    correct: bool | float | None = None,
    tokens: int | None = None,
) -> EvaluateResult:
    """The value of the curve at the length of the answer; invalid where there is no answer, or a column is missing."""
    texts = [m.text for m in messages if m["role"] == "assistant"]
    if not texts:
        return invalid("the conversation holds no message of the assistant")
    if unit == "tokens" and tokens is None:
        return invalid("the unit is tokens, and there is no column tokens")
    length = tokens if unit == "tokens" else count("\n".join(texts) if one_of("of", of, "last", "all") == "all" else texts[-1], unit)
    if one_of("curve", curve, "range", "overlong", "cosine") == "range":
        score = in_range(length, minimum, math.inf if maximum is None else maximum, slack)
    elif maximum is None:
        raise ValueError(f"curve {curve} needs a maximum")
    elif curve == "overlong":
        score = overlong(length, maximum, cache)
    elif correct is None:
        return invalid("the curve is cosine, and there is no column correct")
    elif exceeded is not None and length >= maximum:
        score = exceeded
    elif correct:
        score = cosine(length, maximum, correct_short, correct_long)
    else:
        score = cosine(length, maximum, wrong_short, wrong_long)
    return EvaluateResult(score=score, metrics={"length": length})


def count(text: str, unit: str) -> int:
    """How many characters, words or pieces between white space a text has."""
    if one_of("unit", unit, "characters", "words", "whitespace", "tokens") == "characters":
        return len(text)
    return len(WORD.findall(text)) if unit == "words" else len(text.split())


def in_range(length: float, minimum: float, maximum: float, slack: float) -> float:
    """1 from minimum to maximum, 0 further than slack away from it, a straight line between."""
    if not 0 <= minimum <= maximum or slack < 0:
        raise ValueError(f"0 <= minimum <= maximum and 0 <= slack must hold: {minimum}, {maximum}, {slack}")
    outside = max(minimum - length, length - maximum, 0)
    return 1.0 if outside == 0 else max(0.0, 1 - outside / slack) if slack else 0.0


def overlong(length: float, maximum: float, cache: float) -> float:
    """Equation (13) of DAPO (arXiv 2503.14476): 0 up to maximum - cache, falling to -1 at maximum, -1 beyond."""
    if not 0 <= cache <= maximum:
        raise ValueError(f"0 <= cache <= maximum must hold: {cache}, {maximum}")
    if length <= maximum - cache:
        return 0.0
    return (maximum - cache - length) / cache if length <= maximum else -1.0


def cosine(length: float, maximum: float, short: float, long: float) -> float:
    """CosFn of "Demystifying Long Chain-of-Thought Reasoning in LLMs" (arXiv 2502.03373), from short at 0 to long at maximum.

    Beyond it stays at long: the cosine would turn back.
    """
    if maximum <= 0:
        raise ValueError(f"maximum must be above 0: {maximum}")
    return long + 0.5 * (short - long) * (1 + math.cos(math.pi * min(1.0, length / maximum)))


def one_of(name: str, value: str, *values: str) -> str:
    """The value, if it is one of those there are."""
    if value not in values:
        raise ValueError(f"{name} is {value!r}; it is one of {', '.join(values)}")
    return value


def invalid(reason: str) -> EvaluateResult:
    """That there is no score."""
    return EvaluateResult(is_score_valid=False, reason=reason)
