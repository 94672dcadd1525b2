"""Whether an answer equals the ground truth, as math-verify with sympy says it.

Both are packages as published, in the folder ``packages``. What these files
add: which text is the answer, what may stand as ground truth, and that an
answer which exhausts whoever compares it is never called wrong.
"""

from __future__ import annotations

import logging
import os
import sys
from itertools import product

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "packages")]

import exhaustion
import reading
import warm
from math_verify import verify
from merit_reward import EvaluateResult, Message, MetricResult, reward_function, warm_up

__merit__ = {"name": "math", "version": "1", "description": "numeric and LaTeX equivalence by math-verify and sympy"}

logging.getLogger("math_verify").setLevel(logging.ERROR)  # it warns where this file gives a reason


@reward_function
def reward(
    messages,
    ground_truth=None,
    *,
    after=("</think>", "####"),
    extract=("latex", "expr"),
    strings=("A", "B", "C", "D"),
    boxed_match_priority=0,
    strict=True,
    float_rounding=6,
    numeric_precision=15,
    allow_set_relation_comp=False,
):
    """1 if the last answer says what the ground truth says, 0 if it does not.

    after: the answer begins after the last of each of these marks.
    extract: what is looked for: latex, expr (numbers and sums in plain text), string (one of ``strings``).
    The others are math-verify's, with its defaults, but that a box comes first (its default is 50).
    """
    text = next((m.text for m in reversed(messages) if m.role == "assistant"), None)
    if text is None:
        return _unscored("there is no answer: no message is the assistant's")
    configs = reading.configurations(tuple(extract), tuple(strings), boxed_match_priority)
    truths = [reading.truth(t, configs, after) for t in (ground_truth if isinstance(ground_truth, list) else [ground_truth])]
    exhaustion.pass_on()
    for truth in truths:
        if not truth.parsed:
            return _unscored(f"the ground truth '{truth.said}' cannot be read{_because([truth.problem])}")
    answer = reading.read(reading.rest(text, after), configs)
    deep = exhaustion.pass_on(but=RecursionError)  # what is nested so deep is unreadable to everybody
    problems = [answer.problem or deep]
    settings = {"strict": strict, "float_rounding": float_rounding, "numeric_precision": numeric_precision, "allow_set_relation_comp": allow_set_relation_comp}
    equal = any(_equal(one, other, settings, problems) for one, other in product([e for t in truths for e in t.parsed], answer.parsed))
    if not equal:
        exhaustion.pass_on()
        for truth in truths:
            if not truth.understood:  # only the same text would have been equal
                return _unscored(f"the ground truth '{truth.said}' cannot be read, and '{answer.said}' is another text{_because(problems)}")
    gold = reading.cut(" or ".join(t.said for t in truths))
    verdict = "equals" if equal else "does not equal" if answer.understood else "cannot be read as mathematics, and is not"
    return EvaluateResult(
        score=float(equal),
        reason=f"'{answer.said}' {verdict} '{gold}'{_because(problems)}",
        metrics={
            "answer_read": MetricResult(score=float(answer.understood), reason=answer.said),
            "truths_read": MetricResult(score=float(len(truths)), reason=gold),
        },
    )


def _equal(truth, answer, settings, problems) -> bool:
    try:
        return verify(truth, answer, raise_on_error=True, **settings)
    except Exception as e:  # math-verify's own answer is False, and the next pair
        problems.append(f"{type(e).__name__}: {reading.cut(str(e))}")
        return False


def _unscored(why: str) -> EvaluateResult:
    return EvaluateResult(is_score_valid=False, reason=why)


def _because(problems) -> str:
    said = "; ".join(dict.fromkeys(p for p in problems if p))
    return f" ({said})" if said else ""


@warm_up
def ready():
    """Has everything done once that the first of many answers would otherwise pay for."""
    exhaustion.watch()
    configs = reading.configurations(("latex", "expr"), (), 0)
    for shape in warm.shapes():
        reading.read(f"${shape}$", configs)
    for truth, answer in warm.pairs():
        reward([Message(role="assistant", content=answer)], ground_truth=truth)
