"""Does the answer have the form that was asked for: a pattern, tags in their order, marks, JSON of a schema?

Parameters, by ``--with``, ``with:`` or a column of the same name. Each of the first four that is given is a check:

``pattern``  a regular expression that the answer holds; with ``whole`` it must be the whole answer
``tags``     tags that stand there once each, in this order: ``["think", "answer"]``; one that holds others is an object:
             ``["think", {"answer": ["value", "unit"]}]``. With ``outside: false`` only white space may stand around them
``marks``    texts that stand there once each, in this order: ``["Thought:", "Action:"]``
``schema``   the JSON Schema of the JSON in the answer: the content of the tag ``within``, if that is given; else the last
             fenced block that is JSON's or nobody's, if there is one; else the whole answer. ``true`` takes any JSON
``partial``  the score is the mean of how far each check is fulfilled, not 1 if all are and else 0
"""

from __future__ import annotations

import functools
import json
import os
import re
import sys

from merit_reward import EvaluateResult, Message, reward_function

__merit__ = {"name": "format"}

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "packages"))
try:
    from jsonschema.exceptions import best_match
    from jsonschema.validators import validator_for
except ImportError:  # a schema says what is missing
    validator_for = None

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Tag = str | dict[str, "list[Tag]"]
    Verdict = tuple[float, str]  # from 0 to 1, and why it is not 1

FENCE = re.compile(r"^```([A-Za-z]*)[^\n`]*\n(.*?)^```", re.MULTILINE | re.DOTALL)


@reward_function
def reward(
    messages: list[Message],
    *,
    pattern: str | None = None,
    whole: bool = False,
    tags: list[Tag] | None = None,
    outside: bool = True,
    marks: list[str] | None = None,
    schema: dict[str, Any] | bool | None = None,
    within: str = "",
    partial: bool = False,
) -> EvaluateResult:
    """1 if the last message of the assistant passes every check that was asked for; invalid if there is no such message."""
    answer = next((m.text for m in reversed(messages) if m["role"] == "assistant"), None)
    if answer is None:
        return EvaluateResult(is_score_valid=False, reason="the conversation holds no message of the assistant")
    verdicts: dict[str, Verdict] = {}
    if pattern is not None:
        verdicts["pattern"] = matches(answer, pattern, whole)
    if tags is not None:
        verdicts["tags"] = tagged(answer, tags, outside)
    if marks is not None:
        verdicts["marks"] = in_order(marks, [m.group() for m in any_of(marks).finditer(answer)])
    if schema is not None:
        verdicts["schema"] = valid(answer, schema, within)
    if not verdicts:
        raise ValueError("nothing is checked: give at least one of pattern, tags, marks, schema")
    share = sum(v for v, _ in verdicts.values()) / len(verdicts)
    return EvaluateResult(
        score=share if partial else float(share == 1),
        reason="; ".join(f"{name}: {why}" for name, (_, why) in verdicts.items() if why),
        metrics={name: v for name, (v, _) in verdicts.items()},
    )


def matches(answer: str, pattern: str, whole: bool) -> Verdict:
    """Whether a regular expression is found. One that takes too long ends with the fuel, and has no score."""
    found = re.fullmatch(pattern, answer) if whole else re.search(pattern, answer)
    return (1.0, "") if found else (0.0, "it does not match")


def tagged(answer: str, tags: list[Tag], outside: bool) -> Verdict:
    """How much of the opening and closing tags stands where it should."""
    wanted = list(flat(tags))
    found = list(any_of(wanted).finditer(answer))
    share, why = in_order(wanted, [m.group() for m in found])
    text = "" if outside or share < 1 else around(answer, found)
    return (0.5, f"there is text outside of the tags: {text[:40]!r}") if text else (share, why)


def around(answer: str, found: list[re.Match[str]]) -> str:
    """What stands before, between and behind well-nested tags."""
    pieces, depth, at = [], 0, 0
    for m in found:
        if depth == 0:
            pieces.append(answer[at : m.start()])
        depth, at = depth + (-1 if m.group().startswith("</") else 1), m.end()
    return "".join([*pieces, answer[at:]]).strip()


def flat(tags: list[Tag]) -> Any:
    """The opening and closing tags in the order in which they should stand."""
    for tag in tags:
        for name, inner in tag.items() if isinstance(tag, dict) else [(tag, [])]:
            yield f"<{name}>"
            yield from flat(inner)
            yield f"</{name}>"


@functools.lru_cache(16)
def _any_of(texts: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, sorted(texts, key=len, reverse=True))) or r"(?!)")


def any_of(texts: list[str]) -> re.Pattern[str]:
    """A pattern for each of some texts, the longer first."""
    return _any_of(tuple(texts))


def in_order(wanted: list[str], found: list[str]) -> Verdict:
    """The longest common subsequence of what is there and what should be, as a share of the longer of both."""
    if wanted == found:
        return 1.0, ""
    row = [0] * (len(found) + 1)
    for w in wanted:
        before = 0
        for j, f in enumerate(found, 1):
            row[j], before = (before + 1 if w == f else max(row[j], row[j - 1])), row[j]
    counts = {w: found.count(w) for w in wanted}
    why = next((f"{w} is missing" if not n else f"{w} is there {n} times" for w, n in counts.items() if n != wanted.count(w)), "they are not in order")
    return row[-1] / max(len(wanted), len(found)), why


def valid(answer: str, schema: dict[str, Any] | bool, within: str) -> Verdict:
    """1 for JSON of the schema, a half for other JSON, 0 where there is none."""
    if within:
        text = answer.rpartition(f"<{within}>")[2].partition(f"</{within}>")[0] if f"<{within}>" in answer else ""
    else:
        blocks = [text for language, text in FENCE.findall(answer) if language.lower() in ("", "json")]
        text = blocks[-1] if blocks else answer
    try:
        value = json.loads(text, parse_constant=not_json)
    except (ValueError, RecursionError) as e:
        return 0.0, f"there is no JSON: {e}"
    if schema is True:
        return 1.0, ""
    errors = validator(json.dumps(schema)).iter_errors(value)
    error = best_match(errors)
    return (1.0, "") if error is None else (0.5, f"{error.json_path}: {error.message[:200]}")


def not_json(name: str) -> float:
    """Refuses NaN and Infinity, which Python's parser would take."""
    raise ValueError(f"{name} is no JSON")


@functools.lru_cache(16)
def validator(schema: str) -> Any:
    """The validator of a schema, which is checked itself. That of ``with`` is made once, in the warm-up."""
    if validator_for is None:
        raise ImportError("a schema needs the packages of requirements.txt beside reward.py, in the folder packages")
    parsed = json.loads(schema)
    kind = validator_for(parsed)
    kind.check_schema(parsed)
    return kind(parsed)
