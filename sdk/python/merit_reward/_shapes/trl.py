"""TRL's shape, which open-r1, Unsloth and ms-swift share."""

from __future__ import annotations

from ..shapes import FLAT, NOT_COLUMNS, OWN, PROMPT, TEXT, inner, parts
from .base import Shape, listed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

    from . import Row


class TRL(Shape):
    """``f(prompts, completions, **columns) -> list[float | None]``: every argument is a list, of one where nothing is compared.

    A prompt and a completion are texts if that is what they were, or if the function is annotated so; else lists of messages.
    """

    lists = True

    def __init__(self, row: "Row", func: "Callable[..., Any]", names: "frozenset[str]", takes_all: bool) -> None:
        super().__init__(row, func, names, takes_all)
        hint = str(getattr(inner(func), "__annotations__", {}).get("completions", "")).replace("typing.", "").lower()
        self.text = hint.replace("sequence", "list") == "list[str]" or hasattr(inner(func), "_merit_texts")
        self.open = takes_all
        self.wants = names - {"prompts", "completions", "log_metric", "log_extra"} | {"messages", PROMPT, TEXT, OWN, FLAT}
        self.whole = [name for name in ("metadata", "messages") if name in names]  # what is given only to who names it
        self.log = Log()

    def many(self, members: "list[dict[str, Any]]") -> "list[Any]":
        log = self.log
        if log.used:
            log.__init__()
        halves = [parts(m, self.text) for m in members]
        offered: "dict[str, Any]" = {
            "prompts": [p for p, _ in halves],
            "completions": [c for _, c in halves],
            "log_metric": log.metric,
            "log_extra": log.extra,
            "ground_truth": [m.get("ground_truth") for m in members],
        }
        for name in self.whole:
            offered[name] = [m.get(name) for m in members]
        if [m for m in members if OWN in m]:
            self._own(offered, members)
        for name in sorted({k for m in members for k in m if k not in NOT_COLUMNS}):
            if name not in offered:
                offered[name] = [m.get(name) for m in members]
        results = self.called(offered)
        if results.__class__ is not list or len(results) != len(members):
            results = listed(results, members, "completions")
        if log.used or None in results:
            return [_result(r, log.of(i, len(members))) for i, r in enumerate(results)]
        return results

    def _own(self, offered: "dict[str, Any]", members: "list[dict[str, Any]]") -> None:
        """Puts the row's own columns where Merit has something else under their names."""
        owns = [m.get(OWN) or {} for m in members]
        for name in sorted({k for own in owns for k in own}):
            if name not in ("prompts", "completions", "log_metric", "log_extra"):
                before = offered.get(name) or [m.get(name) for m in members]
                offered[name] = [own.get(name, b) for own, b in zip(owns, before)]


class Log:
    """What a reward logs by TRL's log_metric, a number for the whole call, and log_extra, a value for each completion."""

    def __init__(self) -> None:
        self.used = False
        self.metrics: "dict[str, list[float]]" = {}
        self.extras: "dict[str, list[Any]]" = {}

    def metric(self, name: str, value: float) -> None:
        self.used = True
        self.metrics.setdefault(str(name), []).append(float(value))

    def extra(self, column: str, values: "list[Any]") -> None:
        self.used = True
        print(f"{column}: {values!r}")
        self.extras.setdefault(str(column), []).extend(values)

    def of(self, i: int, members: int) -> "dict[str, float]":
        """The metrics of a member: TRL's mean of what was logged under one name, and the numbers among its own values."""
        own = {k: v[i] for k, v in self.extras.items() if len(v) == members and isinstance(v[i], (int, float))}
        return {**own, **{k: sum(v) / len(v) for k, v in self.metrics.items()}}


def _result(result: "Any", metrics: "dict[str, float]") -> "Any":
    """A score of TRL's list, in which None says that there is none."""
    fields: "dict[str, Any]" = {"metrics": metrics} if metrics else {}
    if result is None:
        return {"score": None, "is_score_valid": False, "reason": "the reward returned None for it", **fields}
    if metrics and isinstance(result, (int, float)):
        return {"score": result, **fields}
    return result
