"""The shapes of functions that others call rewards, each called as its own trainer calls it.

A shape is known by its parameters: ``completions`` is TRL's, ``solution_str``
(one) and ``solution_strs`` (a batch) verl's, ``row`` and ``rows``
eval-protocol's; all else is Merit's and reward-kit's, and is called by name.
"""

from __future__ import annotations

from .absent import UnavailableError
from .models import EvaluateResult, Message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

# Whose shape a parameter tells; the first that a function has counts.
MARKS = {"completions": "trl", "solution_str": "verl", "solution_strs": "verl batch", "row": "eval-protocol", "rows": "eval-protocol"}
MERIT = ("messages", "rollout", "rollouts", "rollouts_messages")
FORMAT = "completion_format"  # the column that says what a conversation was: "text" for a prompt and a completion
NOT_COLUMNS = frozenset(("messages", "ground_truth", "metadata", "rollout", "__prompt__", FORMAT))
PROMPT = "__prompt__"  # how many messages are the prompt's, if the steps of the trajectory say so
# What the trainer gives and Merit does not have.
ABSENT = {
    "trl": ("completion_ids", "trainer_state", "environments"),
    "verl": ("reward_router_address", "reward_model_tokenizer"),
    "verl batch": ("reward_router_address", "reward_model_tokenizer"),
}


def of(names: "frozenset[str]", func: "Any") -> str:
    """The shape of a function with these parameters; empty for Merit's own."""
    if not names.isdisjoint(MERIT):
        return ""
    for mark, shape in MARKS.items():
        if mark in names and (shape != "eval-protocol" or "EvaluationRow" in str(getattr(func, "__annotations__", {}).get(mark, ""))):
            return shape
    return ""


def shipped(func: "Any") -> bool:
    """Whether a function is one that reward-kit or eval-protocol ships."""
    return str(getattr(func, "__module__", "")).startswith(("reward_kit.", "eval_protocol."))


class Shape:
    """A function as Merit calls it: with messages, ground_truth, metadata and the columns of one member, or of all."""

    given: "frozenset[str]" = frozenset()  # what the trainer's call gives by itself: no parameter may have these names
    wants: "frozenset[str]" = frozenset(("messages", "ground_truth", "metadata", PROMPT))  # what Merit must give
    open = False  # takes every column

    def __init__(self, func: "Callable[..., Any]", names: "frozenset[str]", takes_all: bool) -> None:
        self.func, self.names, self.takes_all = func, names, takes_all

    def one(self, **arguments: "Any") -> "Any":
        """The result of one member."""
        return self.many([arguments])[0]

    def many(self, members: "list[dict[str, Any]]") -> "list[Any]":
        """A result for each member."""
        raise NotImplementedError

    def _called(self, offered: "dict[str, Any]") -> "Any":
        return self.func(**(offered if self.takes_all else {k: v for k, v in offered.items() if k in self.names}))


class TRL(Shape):
    """``f(prompts, completions, **columns) -> list[float | None]``: every argument is a list, of one where nothing is compared.

    A prompt and a completion are texts if that is what they were, or if the function is annotated so; else lists of messages.
    """

    given = frozenset(("prompts", "completions", "log_metric", "log_extra", "ground_truth", "metadata"))

    def __init__(self, func: "Callable[..., Any]", names: "frozenset[str]", takes_all: bool) -> None:
        super().__init__(func, names, takes_all)
        hint = str(getattr(_inner(func), "__annotations__", {}).get("completions", "")).replace("typing.", "").lower()
        self.text = hint.replace("sequence", "list") == "list[str]"
        self.open = takes_all
        self.wants = names - {"prompts", "completions", "log_metric", "log_extra"} | {"messages", PROMPT, FORMAT}

    def many(self, members: "list[dict[str, Any]]") -> "list[Any]":
        metrics: "dict[str, float]" = {}
        parts = [self._part(m) for m in members]
        offered: "dict[str, Any]" = {
            "prompts": [p for p, _ in parts],
            "completions": [c for _, c in parts],
            "log_metric": lambda name, value: metrics.__setitem__(str(name), float(value)),
            "log_extra": lambda column, values: print(f"{column}: {values!r}"),
            "ground_truth": [m.get("ground_truth") for m in members],
        }
        if "metadata" in self.names:
            offered["metadata"] = [m.get("metadata") for m in members]
        columns = {k for m in members for k in m if k not in NOT_COLUMNS}
        for name in sorted(columns):
            if name not in offered:
                offered[name] = [m.get(name) for m in members]
        results = self._called(offered)
        if isinstance(results, (int, float, dict, str)) or results is None or isinstance(results, EvaluateResult):
            raise TypeError(f"the reward returned {type(results).__name__} {str(results)[:200]!r}; with completions it returns a list, one score for each")
        results = list(results)
        if len(results) != len(members):
            raise ValueError(f"the reward returned {len(results)} scores for {len(members)} completions")
        return [_none(r, metrics) for r in results]

    def _part(self, member: "dict[str, Any]") -> "tuple[Any, Any]":
        prompt, completion = split(member)
        if self.text or member.get(FORMAT) == "text":
            return text(prompt), said(completion)
        return prompt, completion


def _none(result: "Any", metrics: "dict[str, float]") -> "Any":
    """A score of TRL's list, in which None says that there is none."""
    fields: "dict[str, Any]" = {"metrics": metrics} if metrics else {}
    if result is None:
        return {"score": None, "is_score_valid": False, "reason": "the reward returned None for it", **fields}
    if metrics and isinstance(result, (int, float)):
        return {"score": result, **fields}
    return result


class Verl(Shape):
    """``compute_score(data_source, solution_str, ground_truth, extra_info) -> float | dict`` with a score."""

    given = frozenset(("data_source", "solution_str", "ground_truth", "extra_info"))

    def many(self, members: "list[dict[str, Any]]") -> "list[Any]":
        return [self._taken(self._called(self._offered(m))) for m in members]

    def _offered(self, member: "dict[str, Any]") -> "dict[str, Any]":
        metadata = member.get("metadata") or {}
        truth, info, model = member.get("ground_truth"), metadata.get("extra_info"), metadata.get("reward_model")
        if truth is None and isinstance(model, dict):  # a row of verl's own data
            truth = model.get("ground_truth")
        return {
            "data_source": metadata.get("data_source", ""),
            "solution_str": said(split(member)[1]),
            "ground_truth": truth,
            "extra_info": info if isinstance(info, dict) else metadata,
        }

    def _taken(self, result: "Any") -> "Any":
        """verl logs what a dict has beside the score: its numbers are metrics here."""
        if not isinstance(result, dict) or "metrics" in result:
            return result
        known = {k: result[k] for k in ("score", "is_score_valid", "reason", "error", "step_outputs") if k in result}
        return {**known, "metrics": {str(k): v for k, v in result.items() if k not in known and isinstance(v, (int, float))}}


class VerlBatch(Verl):
    """``compute_score(data_sources, solution_strs, ground_truths, extra_infos) -> list``, with lists of one where nothing is compared."""

    given = frozenset(f"{name}s" for name in Verl.given)

    def many(self, members: "list[dict[str, Any]]") -> "list[Any]":
        rows = [self._offered(m) for m in members]
        results = list(self._called({f"{name}s": [r[name] for r in rows] for name in sorted(Verl.given)}))
        if len(results) != len(members):
            raise ValueError(f"the reward returned {len(results)} scores for {len(members)} solutions")
        return [self._taken(r) for r in results]


class EvalProtocol(Shape):
    """A test of eval-protocol: ``f(row)``, or ``f(rows)`` for a group, gives rows with an ``evaluation_result``."""

    given = frozenset(("row", "rows"))
    wants = Shape.wants | {"rollout"}

    def many(self, members: "list[dict[str, Any]]") -> "list[Any]":
        from .rows import row

        rows = [row(m) for m in members]
        if "rows" in self.names:
            results = list(self.func(rows=rows))
            if len(results) != len(rows):
                raise ValueError(f"the reward returned {len(results)} rows for {len(rows)}")
        else:
            results = [self.func(row=r) for r in rows]
        return [self._taken(r) for r in results]

    def _taken(self, result: "Any") -> "Any":
        if hasattr(result, "evaluation_result"):
            result = result.evaluation_result
            if result is None:
                raise ValueError("the row that the reward returned has no evaluation_result")
        return result


SHAPES = {"trl": TRL, "verl": Verl, "verl batch": VerlBatch, "eval-protocol": EvalProtocol}


def split(member: "dict[str, Any]") -> "tuple[list[Message], list[Message]]":
    """The messages of the prompt and of the completion.

    The prompt is what the policy saw before its first step, where the
    trajectory has steps; else it ends with the last message of the user or the
    system.
    """
    messages, n = member["messages"], member.get(PROMPT)
    if n is None:
        n = len(messages)
        while n and messages[n - 1]["role"] not in ("user", "system", "developer"):
            n -= 1
    return messages[:n], messages[n:]


def said(completion: "list[Message]") -> str:
    """A completion as text: what its messages of the assistant say, a line each."""
    return "\n".join(m.text for m in completion if m["role"] == "assistant")


def text(prompt: "list[Message]") -> str:
    """A prompt as text: what its messages say, a line each."""
    return "\n".join(m.text for m in prompt)


def _inner(func: "Any") -> "Any":
    while hasattr(func, "__wrapped__") or hasattr(func, "func"):
        func = getattr(func, "__wrapped__", None) or func.func
    return func


def missing(shape: str, required: "list[str]") -> "str | None":
    """Why a function of this shape cannot be called at all."""
    for name in required:
        if name in ABSENT.get(shape, ()):
            return f"the reward needs {name}, which only a trainer has: give the parameter a default, or a value in with"
    return None


def unswallowed(func: "Callable[..., Any]") -> "Callable[..., Any]":
    """The function for which it is an error that it did without what the sandbox does not have.

    Rewards that others ship catch every exception and call it a score of 0.
    """

    from .rows import with_parts

    def call(**arguments: "Any") -> "Any":
        UnavailableError.last = None
        if "messages" in arguments:
            arguments["messages"] = with_parts(arguments["messages"])
        result = func(**arguments)
        if UnavailableError.last is not None:
            raise UnavailableError.last
        if "not installed" in str(getattr(result, "reason", "")):  # which they call a score of 0 as well
            raise UnavailableError(f"the reward cannot be computed here: {result.reason}")
        return result

    return call
