"""What two results of one trajectory differ in."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Iterator, Mapping

if TYPE_CHECKING:
    from ._both import Result


def differences(natively: "Result", sandboxed: "Result", tolerance: float) -> "list[str]":
    """A line for each difference, the head first; none if there is none.

    Reasons are no part of it: tracebacks name other files. They are told where
    outcomes differ.
    """
    found = [f"    {what:<18} natively {a}   sandbox {b}" for what, a, b in _differences(natively, sandboxed, tolerance)]
    if not found:
        return []
    if natively.outcome != sandboxed.outcome:
        for name, r in (("natively", natively), ("sandbox", sandboxed)):
            if r.reason:
                found.append(f"    {name} says: {_last(r.reason)}")
    return [f"  {sandboxed.id}", *found]


def _differences(a: "Result", b: "Result", tolerance: float) -> "Iterator[tuple[str, str, str]]":
    if a.outcome != b.outcome:
        yield "outcome", a.outcome, b.outcome
    if not a.scored or not b.scored:  # files of results have nothing more then
        return
    if not _same(a.score, b.score, tolerance):
        yield "score", repr(a.score), repr(b.score)
    for name in sorted({*a.metrics, *b.metrics}):
        x, y = (_metric(r.metrics.get(name)) for r in (a, b))
        if x is None or y is None or x[1] != y[1] or not _same(x[0], y[0], tolerance):
            yield f"metric {name}", _shown(x), _shown(y)
    if len(a.step_outputs) != len(b.step_outputs):
        yield "steps", str(len(a.step_outputs)), str(len(b.step_outputs))
        return
    for i, (x, y) in enumerate(zip(_steps(a), _steps(b))):
        if not _same(x, y, tolerance):
            yield f"step reward {i}", repr(x), repr(y)


def _same(a: Any, b: Any, tolerance: float) -> bool:
    if a is None or b is None:
        return a is b
    return math.isclose(a, b, rel_tol=tolerance, abs_tol=tolerance * 1e-3)


def _metric(m: "Mapping[str, Any] | None") -> "tuple[float, bool] | None":
    return None if m is None else (float(m.get("score", 0.0)), bool(m.get("is_score_valid", True)))


def _shown(m: "tuple[float, bool] | None") -> str:
    return "none" if m is None else repr(m[0]) + ("" if m[1] else " (not valid)")


def _steps(r: "Result") -> "list[float]":
    """The rewards of steps in the order of the conversation, however the author counts them."""
    return [float(s["base_reward"]) for s in sorted(r.step_outputs, key=lambda s: int(s["step_index"]))]


def _last(reason: str) -> str:
    lines = reason.strip().splitlines()
    return lines[-1][:300] if lines else ""
