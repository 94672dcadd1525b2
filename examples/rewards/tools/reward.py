"""Did the conversation call the tools that it should have, with the right arguments?

The ground truth is the list of expected calls, each ``{"name": …, "arguments": {…}}`` or OpenAI's ``{"function": {…}}``; an
empty list says that no tool should be called.

Parameters, by ``--with``, ``with:`` or a column of the same name:

``arguments``  how a call's arguments must agree with those expected: ``equal`` (default), ``subset`` (the expected ones are
               among them), ``one_of`` (for each argument a list of values that are right; "" among them: it may be missing),
               ``schema`` (what is expected is a JSON Schema), ``ignore``
``loose``      texts agree whatever their case, spaces and ,./-_*^
``order``      ``any`` (default), or ``same``: calls count only as far as they come in the order of those expected
``extra``      ``count`` (default): calls that nobody expected lower the score; ``ignore``: they do not
``exact``      the score is 1 if all of that holds of every call, else 0; there are no steps then
``partial``    a call of the right tool is worth the share of its arguments that agree, not 1 or 0
``only``       the tools that are looked at, in calls and expectations; all by default
``read``       ``calls`` of the messages (default), or ``text``: calls between <tool_call> and </tool_call>, as Hermes and Qwen write them
``steps``      each assistant message that calls a tool is a step with its share of the score (default), or not
"""

from __future__ import annotations

import json
import os
import re
import sys

from merit_reward import EvaluateResult, Message, StepOutput, reward_function

from matching import best

__merit__ = {"name": "tools"}

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "packages"))
try:
    from jsonschema.validators import validator_for
except ImportError:  # arguments: schema says what is missing
    validator_for = None

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Call = tuple[str, Any]  # name and arguments; BROKEN where those are no JSON
BROKEN = object()
MARKS = re.compile(r"[ ,./\-_*^]")


@reward_function
def reward(
    messages: list[Message],
    ground_truth: list[dict[str, Any]] | None = None,
    *,
    arguments: str = "equal",
    loose: bool = False,
    order: str = "any",
    extra: str = "count",
    exact: bool = False,
    partial: bool = False,
    only: list[str] | None = None,
    read: str = "calls",
    steps: bool = True,
) -> EvaluateResult:
    """The credits of the matched calls, divided by how many were expected, or made if that is more; invalid without expectations."""
    for name, value, known in (
        ("arguments", arguments, HOW), ("order", order, ("any", "same")), ("extra", extra, ("count", "ignore")), ("read", read, ("calls", "text")),
    ):
        if value not in known:
            raise ValueError(f"{name} is {value!r}; it is one of {', '.join(known)}")
    if not isinstance(ground_truth, list):
        return EvaluateResult(is_score_valid=False, reason="the ground truth is no list of expected calls")
    expected = [c for c in map(expectation, ground_truth) if only is None or c[0] in only]
    made = [(step, c) for step, c in calls(messages, read) if only is None or c[0] in only]

    def credit(call: Call, wanted: Call) -> float:
        if call[0] != wanted[0] or call[1] is BROKEN:
            return 0.0
        share = HOW[arguments](call[1], wanted[1], loose)
        return share if partial else float(share == 1)

    credits = best([[credit(c, w) for w in expected] for _, c in made], order == "same")
    total = max(len(expected), len(made) if extra == "count" else 0)
    counts = {
        "expected": len(expected), "made": len(made), "matched": sum(c == 1 for c in credits),
        "malformed": sum(c[1] is BROKEN for _, c in made),
    }
    score = sum(credits) / total if total else 1.0
    if exact:
        score, steps = float(counts["matched"] == total), False
    result = EvaluateResult(score=score, reason=first_problem(expected, made, credits), metrics=counts)
    if steps and made:
        of_step: dict[int, float] = {}
        for (step, _), c in zip(made, credits):
            of_step[step] = of_step.get(step, 0.0) + c / total if total else 0.0
        result.step_outputs = [StepOutput(step_index=s, base_reward=r) for s, r in of_step.items()]
    return result


def first_problem(expected: list[Call], made: list[tuple[int, Call]], credits: list[float]) -> str:
    """The first call that is not worth 1, or that some are missing."""
    for (step, (name, given)), c in zip(made, credits):
        if c < 1:
            what = "its arguments are no JSON object" if given is BROKEN else f"worth {c:.2g}"
            return f"step {step}: {name}: {what}"
    missing = len(expected) - len(made)
    return f"{missing} of {len(expected)} expected calls are missing" if missing > 0 else ""


def expectation(wanted: dict[str, Any]) -> Call:
    """An expected call. A ground truth that is none is an error of the data, not of the policy."""
    function = wanted.get("function", wanted) if isinstance(wanted, dict) else {}
    name, given = function.get("name"), function.get("arguments", {})
    if isinstance(given, str):
        given = json.loads(given)
    if not isinstance(name, str) or not isinstance(given, dict):
        raise ValueError(f"an expected call needs a name and arguments: {wanted!r}")
    return name, given


def calls(messages: list[Message], read: str) -> list[tuple[int, Call]]:
    """Every call with the number of its assistant message."""
    found: list[tuple[int, Call]] = []
    for step, m in enumerate(m for m in messages if m["role"] == "assistant"):
        if read == "calls":
            found += [(step, (c.function.name or "", parsed(c.function.arguments))) for c in m.tool_calls or ()]
            continue
        for piece in m.text.split("<tool_call>")[1:]:
            call = parsed(piece.partition("</tool_call>")[0])
            call = {} if call is BROKEN else call
            given = call.get("arguments", BROKEN)
            name = call.get("name")
            found.append((step, (name if isinstance(name, str) else "", given if isinstance(given, dict) else BROKEN)))
    return found


def parsed(text: Any) -> Any:
    """A JSON object, or BROKEN. Some models write nothing where a tool takes nothing."""
    try:
        value = json.loads(text.strip() or "{}") if isinstance(text, str) else {} if text is None else text
    except (ValueError, RecursionError):
        return BROKEN
    return value if isinstance(value, dict) else BROKEN


def equal(a: Any, b: Any, loose: bool) -> bool:
    """Equality of JSON: 1 is 1.0, and true is not 1."""
    if isinstance(a, str) and isinstance(b, str):
        return a == b or loose and plain(a) == plain(b)
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(equal(a[k], b[k], loose) for k in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(equal(x, y, loose) for x, y in zip(a, b))
    return isinstance(a, bool) == isinstance(b, bool) and a == b


def plain(text: str) -> str:
    """A text without what the Berkeley Function Calling Leaderboard does not look at."""
    return MARKS.sub("", text).lower().replace("'", '"')


def by_value(given: dict[str, Any], wanted: dict[str, Any], loose: bool) -> float:
    right = sum(k in given and equal(given[k], v, loose) for k, v in wanted.items())
    return right / (len(given.keys() | wanted.keys()) or 1) if given or wanted else 1.0


def by_subset(given: dict[str, Any], wanted: dict[str, Any], loose: bool) -> float:
    return by_value({k: v for k, v in given.items() if k in wanted}, wanted, loose)


def by_choice(given: dict[str, Any], wanted: dict[str, list[Any]], loose: bool) -> float:
    right = sum(among(given[k], values, loose) if k in given else "" in values for k, values in wanted.items())
    return right / (len(given.keys() | wanted.keys()) or 1) if given or wanted else 1.0


def among(value: Any, choices: list[Any], loose: bool) -> bool:
    """Whether a value is one of its choices. One that is an object has choices for each of its keys, as BFCL writes it."""
    return any(
        by_choice(value, c, loose) == 1 if isinstance(value, dict) and isinstance(c, dict)
        else len(value) == len(c) and all(among(x, [y], loose) for x, y in zip(value, c)) if isinstance(value, list) and isinstance(c, list)
        else equal(value, c, loose)
        for c in choices
    )


def by_schema(given: dict[str, Any], wanted: dict[str, Any], loose: bool) -> float:
    if validator_for is None:
        raise ImportError("arguments: schema needs the packages of requirements.txt beside reward.py, in the folder packages")
    return float(validator_for(wanted)(wanted).is_valid(given))


HOW = {"equal": by_value, "subset": by_subset, "one_of": by_choice, "schema": by_schema, "ignore": lambda given, wanted, loose: 1.0}
