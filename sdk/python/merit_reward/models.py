"""The records that a reward reads and the results that it returns."""

from __future__ import annotations

TYPE_CHECKING = False  # typing costs 14 ms at every start of a sandbox
if TYPE_CHECKING:
    from typing import Any, Mapping


class Record(dict):
    """A dict whose entries are attributes too: ``m["role"]`` is ``m.role``.

    Fields that are not there are ``None`` as attributes, and a ``KeyError`` as
    items, as in a plain dict.
    """

    __slots__ = ()
    _fields: "tuple[str, ...]" = ()

    def __getattr__(self, name: str) -> "Any":
        try:
            return self[name]
        except KeyError:
            if name in self._fields:
                return None
            raise AttributeError(f"{type(self).__name__} has no field {name!r}") from None

    def __setattr__(self, name: str, value: "Any") -> None:
        self[name] = value

    def model_dump(self, **_: "Any") -> "dict[str, Any]":
        """The record as plain dicts and lists."""
        return _plain(self)

    dict = model_dump

    @classmethod
    def model_validate(cls, value: "Mapping[str, Any]") -> "Record":
        """The record made from a mapping."""
        return cls(value)


def _plain(value: "Any") -> "Any":
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_plain(v) for v in value]
    return value


class FunctionCall(Record):
    """The function of a tool call; ``arguments`` is JSON text as the model wrote it."""

    __slots__ = ()
    _fields = ("name", "arguments")
    if TYPE_CHECKING:
        name: str
        arguments: str


class ToolCall(Record):
    """A request of the assistant to run a tool."""

    __slots__ = ()
    _fields = ("id", "type", "function")
    if TYPE_CHECKING:
        id: str
        type: str
        function: FunctionCall

    def __init__(self, *args: "Any", **kwargs: "Any") -> None:
        dict.__init__(self, *args, **kwargs)
        function = self.get("function")
        if function.__class__ is dict:
            self["function"] = FunctionCall(function)


class Message(Record):
    """One turn of a conversation, in OpenAI's form."""

    __slots__ = ()
    _fields = ("role", "content", "name", "tool_calls", "tool_call_id", "function_call")
    if TYPE_CHECKING:
        role: str
        content: "str | list[dict[str, Any]] | None"
        name: "str | None"
        tool_calls: "list[ToolCall] | None"
        tool_call_id: "str | None"

    def __init__(self, *args: "Any", **kwargs: "Any") -> None:
        dict.__init__(self, *args, **kwargs)
        if "tool_calls" in self and self["tool_calls"]:
            self["tool_calls"] = [c if isinstance(c, ToolCall) else ToolCall(c) for c in self["tool_calls"]]

    @property
    def text(self) -> str:
        """The content as text: the string, or the text parts of a list joined."""
        content = self.get("content")
        if content is None:
            return ""
        if isinstance(content, str):
            return content
        return "".join(p.get("text", "") for p in content if p.get("type") == "text")


class Rollout(Record):
    """A whole episode: what ``rollout=`` and ``rollouts=`` give to a reward."""

    __slots__ = ()
    _fields = ("id", "group", "task", "messages", "ground_truth", "metadata", "steps", "stop_reason")
    if TYPE_CHECKING:
        id: str
        group: str
        task: str
        messages: list[Message]
        ground_truth: Any
        metadata: dict[str, Any]
        steps: list[Record]
        stop_reason: str

    @property
    def answer(self) -> str:
        """The text of the last assistant message, or the empty string."""
        for m in reversed(self["messages"]):
            if m["role"] == "assistant":
                return m.text
        return ""


class _Result:
    """What the results share: item access beside attributes, and equality."""

    __slots__ = ()

    def __getitem__(self, name: str) -> "Any":
        if name not in self.__slots__:
            raise KeyError(name)
        return getattr(self, name)

    def __contains__(self, name: object) -> bool:
        return name in self.__slots__

    def get(self, name: str, default: "Any" = None) -> "Any":
        return getattr(self, name) if name in self.__slots__ else default

    def keys(self) -> "list[str]":
        return list(self.__slots__)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.model_dump() == other.model_dump()  # type: ignore[attr-defined]

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={getattr(self, k)!r}' for k in self.__slots__)})"

    def model_dump(self, **_: "Any") -> "dict[str, Any]":
        """The result as plain dicts and lists."""
        return {k: _dump(getattr(self, k)) for k in self.__slots__}

    dict = model_dump


def _dump(value: "Any") -> "Any":
    if isinstance(value, _Result):
        return value.model_dump()
    if isinstance(value, dict):
        return {k: _dump(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_dump(v) for v in value]
    return value


class MetricResult(_Result):
    """One named figure beside the score."""

    __slots__ = ("score", "is_score_valid", "reason", "data")

    def __init__(
        self,
        score: float,
        is_score_valid: bool = True,
        reason: "str | None" = None,
        data: "dict[str, Any] | None" = None,
        **_: "Any",
    ) -> None:
        self.score, self.is_score_valid, self.reason, self.data = score, is_score_valid, reason, data


class StepOutput(_Result):
    """The reward of one step.

    ``step_index`` counts assistant messages from 0, or all messages if the
    reward's ``__merit__`` says ``"step_index": "message"``.
    """

    __slots__ = ("step_index", "base_reward", "terminated", "control_plane_info", "metrics", "reason")

    def __init__(
        self,
        step_index: "int | str",
        base_reward: float,
        terminated: bool = False,
        control_plane_info: "dict[str, Any] | None" = None,
        metrics: "Mapping[str, MetricResult | float | dict[str, Any]] | None" = None,
        reason: "str | None" = None,
        **_: "Any",
    ) -> None:
        self.step_index, self.base_reward, self.terminated = step_index, base_reward, terminated
        self.control_plane_info, self.metrics, self.reason = control_plane_info, metrics or {}, reason


class EvaluateResult(_Result):
    """What a reward says of one rollout.

    ``is_score_valid=False`` says that there is no valid score; ``error`` that
    the evaluation failed. Neither is ever taken for the number 0.
    """

    __slots__ = (
        "score",
        "is_score_valid",
        "reason",
        "metrics",
        "step_outputs",
        "error",
        "trajectory_info",
        "final_control_plane_info",
    )

    def __init__(
        self,
        score: float = 0.0,
        is_score_valid: bool = True,
        reason: "str | None" = None,
        metrics: "Mapping[str, MetricResult | float | dict[str, Any]] | None" = None,
        step_outputs: "list[StepOutput] | None" = None,
        error: "str | None" = None,
        trajectory_info: "dict[str, Any] | None" = None,
        final_control_plane_info: "dict[str, Any] | None" = None,
        **_: "Any",
    ) -> None:
        self.score, self.is_score_valid, self.reason = score, is_score_valid, reason
        self.metrics, self.step_outputs, self.error = metrics or {}, step_outputs, error
        self.trajectory_info, self.final_control_plane_info = trajectory_info, final_control_plane_info
