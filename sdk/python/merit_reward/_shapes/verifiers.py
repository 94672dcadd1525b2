"""The functions of a rubric of verifiers, alone or with weights."""

from __future__ import annotations

from .. import shapes
from . import base

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Function(base.Shape):
    """``f(prompt, completion, answer, state, info, task, parser, **kwargs) -> float``, called with those that it takes."""

    parser: "Any" = None  # that of the rubric

    def offered(self, member: "dict[str, Any]") -> "dict[str, Any]":
        columns = base.named(member)
        state = _state(member, columns)
        named = {k: v for k, v in columns.items() if k in self.names}
        return {**named, **{k: state[k] for k in ("prompt", "completion", "answer", "task", "info")}, "state": state, "parser": self._parser()}

    def _parser(self) -> "Any":
        from ..peers import Parser

        self.parser = self.parser or Parser()
        return self.parser


class Group(Function):
    """``f(prompts, completions, answers, states, tasks, infos, …) -> list[float]`` of a group."""

    lists = groups = True

    def many(self, members: "list[dict[str, Any]]") -> "list[Any]":
        rows = [self.offered(m) for m in members]
        offered = {f"{k}s": [r[k] for r in rows] for k in ("prompt", "completion", "answer", "state", "task", "info")}
        return [base.taken(r) for r in base.listed(self.called({**offered, "parser": self._parser()}), members, "completions")]


def _state(member: "dict[str, Any]", columns: "dict[str, Any]") -> "dict[str, Any]":
    prompt, completion = shapes.parts(member)
    found = base.truth(member)
    return {
        **base.columns(member),
        "prompt": prompt,
        "completion": completion,
        "answer": columns.get("answer", "" if found is None else found),
        "task": columns.get("task", "default"),
        "info": _info(columns.get("info")),
        "responses": [],
        "turn": sum(m["role"] == "assistant" for m in member["messages"]),
    }


def _info(value: "Any") -> "Any":
    """The column info: verifiers reads one that is JSON as text."""
    if isinstance(value, str):
        import json

        value = json.loads(value)
    return value or {}
