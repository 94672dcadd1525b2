"""The functions of a rubric of verifiers, alone or with weights."""

from __future__ import annotations

from .. import shapes
from ..absent import UnavailableError
from . import base

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Function(base.Shape):
    """``f(prompt, completion, answer, state, info, task, parser, **kwargs) -> float``, called with those that it takes."""

    parser: "Any" = None  # that of the rubric

    def offered(self, member: "dict[str, Any]") -> "dict[str, Any]":
        columns = base.metadata(member)
        state = _state(member, columns)
        named = {k: v for k, v in columns.items() if k in self.names}
        offered = {**named, **{k: state[k] for k in ("prompt", "completion", "answer", "task", "info")}, "state": state, "parser": self._parser()}
        if self.row.options.get("weak") and "state" in named:  # not certainly a function of verifiers: a column of that name is meant
            offered["state"] = named["state"]
        return offered

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


class State(dict):
    """verifiers' record of a rollout, without what only its environments know."""

    def __missing__(self, key: str) -> "Any":
        if key in ("timing", "tokens", "client", "model", "sampling_args", "usage", "oai_tools"):
            raise UnavailableError(f"the reward reads state[{key!r}], which only verifiers' own environment has")
        raise KeyError(key)


def _state(member: "dict[str, Any]", columns: "dict[str, Any]") -> State:
    prompt, completion = shapes.parts(member)
    found = base.truth(member)
    steps = _trajectory(member)
    return State(
        columns,
        prompt=prompt,
        completion=completion,
        answer=columns.get("answer", "" if found is None else found),
        task=columns.get("task", "default"),
        info=_info(columns.get("info")),
        responses=[],
        trajectory=steps,
        turn=len(steps),
        is_completed=True,
        error=None,
    )


def _trajectory(member: "dict[str, Any]") -> "list[dict[str, Any]]":
    """The steps of a rollout: a message of the policy each, and what stood before it."""
    messages, first = member["messages"], len(shapes.split(member)[0])
    places = [i for i, m in enumerate(messages) if m["role"] == "assistant" and i >= first]
    blank = dict.fromkeys(("response", "tokens", "reward", "advantage"))
    return [{"prompt": messages[:i], "completion": [messages[i]], "is_truncated": False, "extras": {}, **blank} for i in places]


def _info(value: "Any") -> "Any":
    """The column info: verifiers reads one that is JSON as text."""
    if isinstance(value, str):
        import json

        value = json.loads(value)
    return value or {}
