"""TRL's shape, which open-r1, Unsloth and ms-swift share."""

from __future__ import annotations

from ..results import number
from ..shapes import FLAT, NOT_COLUMNS, OWN, PROMPT, TEXT, inner, parts
from .base import Absent, Shape, columns, listed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

    from . import Row


class TRL(Shape):
    """``f(prompts, completions, **columns) -> list[float | None]``: every argument is a list, of one where nothing is compared.

    A prompt and a completion are texts if that is what they were, or if the function is annotated so; else lists of messages.
    """

    lists = True
    trainer_gives = False  # what beside says

    def __init__(self, row: "Row", func: "Callable[..., Any]", names: "frozenset[str]", takes_all: bool) -> None:
        super().__init__(row, func, names, takes_all)
        hint = str(getattr(inner(func), "__annotations__", {}).get("completions", "")).replace("typing.", "").lower()
        self.text = hint.replace("sequence", "list") == "list[str]"
        self.open = takes_all
        self.wants = names - {"prompts", "completions", "log_metric", "log_extra"} | {"messages", PROMPT, TEXT, OWN, FLAT}
        self.whole = [name for name in ("metadata", "messages") if name in names]  # what is given only to who names it
        self.log = Log()

    def many(self, members: "list[dict[str, Any]]") -> "list[Any]":
        log = self.log
        if log.used:
            log.__init__()
        halves = [self.halves(m) for m in members]
        offered: "dict[str, Any]" = {
            "prompts": [p for p, _ in halves],
            "completions": [c for _, c in halves],
            "log_metric": log.metric,
            "log_extra": log.extra,
            "ground_truth": [m.get("ground_truth") for m in members],
        }
        for name in self.whole:
            offered[name] = [m.get(name) for m in members]
        if self.trainer_gives:
            offered.update(self.beside(members))
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

    def halves(self, member: "dict[str, Any]") -> "tuple[Any, Any]":
        """The prompt and the completion."""
        return parts(member, self.text)

    def beside(self, members: "list[dict[str, Any]]") -> "dict[str, Any]":
        """What the trainer gives beside TRL's arguments."""
        return {}

    def _own(self, offered: "dict[str, Any]", members: "list[dict[str, Any]]") -> None:
        """Puts the row's own columns where Merit has something else under their names."""
        owns = [m.get(OWN) or {} for m in members]
        for name in sorted({k for own in owns for k in own}):
            if name not in ("prompts", "completions", "log_metric", "log_extra"):
                before = offered.get(name) or [m.get(name) for m in members]
                offered[name] = [own.get(name, b) for own, b in zip(owns, before)]


class Swift(TRL):
    """ms-swift's ``__call__(completions, **kwargs)``: a completion is the text of the last message, and the columns come with what ms-swift knows of a rollout."""

    trainer_gives = True

    def __init__(self, row: "Row", func: "Callable[..., Any]", names: "frozenset[str]", takes_all: bool) -> None:
        super().__init__(row, func, names, takes_all)
        self.text = True
        self.wants = self.wants | {"rollout"}

    def halves(self, member: "dict[str, Any]") -> "tuple[Any, Any]":
        prompt, completion = super().halves(member)
        return prompt, next((m.text for m in reversed(member["messages"]) if m["role"] == "assistant"), completion)

    def beside(self, members: "list[dict[str, Any]]") -> "dict[str, Any]":
        rollouts = [m["rollout"] for m in members]
        reasons = [r.get("stop_reason") for r in rollouts]
        found: "dict[str, Any]" = {
            "messages": [m["messages"] for m in members],
            "finish_reason": reasons,
            "is_truncated": [reason == "length" for reason in reasons],
            "request_id": [r.get("id") for r in rollouts],
            "prompt_id": [r.get("group") or r.get("id") for r in rollouts],
            "rollout_infos": [{} for _ in members],
            "trainer_state": Absent("trainer_state"),
            "response_token_ids": Absent("response_token_ids"),
        }
        taken = {name for m in members for name in columns(m)} - {"messages"}
        return {k: v for k, v in found.items() if k not in taken}


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
        own = {k: v[i] for k, v in self.extras.items() if len(v) == members and number(v[i]) is not None}
        return {**own, **{k: sum(v) / len(v) for k, v in self.metrics.items()}}


def _result(result: "Any", metrics: "dict[str, float]") -> "Any":
    """A score of TRL's list, in which None says that there is none."""
    fields: "dict[str, Any]" = {"metrics": metrics} if metrics else {}
    if result is None:
        return {"score": None, "is_score_valid": False, "reason": "the reward returned None for it", **fields}
    if metrics and (score := number(result)) is not None:
        return {"score": score, **fields}
    return result
