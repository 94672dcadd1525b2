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


def tool_calls(values: "list[dict[str, Any]]") -> "list[ToolCall]":
    """Tool calls as records."""
    return [ToolCall(c, function=FunctionCall(c.get("function") or {})) for c in values]


SPEAKING = ("text", "output_text", "input_text", "refusal", None)  # the types of parts that are text


class Message(Record):
    """One turn of a conversation, in OpenAI's form.

    Every field that the row has is an entry. ``as_given`` is a dict of what was
    written in another form: a role in another spelling, tool calls in another shape.
    """

    __slots__ = ()
    _fields = (
        "role",
        "content",
        "name",
        "tool_calls",
        "tool_call_id",
        "function_call",
        "reasoning_content",
        "reasoning",
        "thinking",
        "refusal",
        "weight",
        "audio",
        "annotations",
        "as_given",
    )
    if TYPE_CHECKING:
        role: str
        content: "str | list[dict[str, Any]] | None"
        name: "str | None"
        tool_calls: "list[ToolCall] | None"
        tool_call_id: "str | None"
        reasoning_content: "str | None"
        as_given: "dict[str, Any] | None"

    @classmethod
    def model_validate(cls, value: "Mapping[str, Any]") -> "Message":
        """The message made from a mapping, its tool calls made into records."""
        m = cls(value)
        if m.get("tool_calls"):
            m["tool_calls"] = tool_calls(m["tool_calls"])
        return m

    @property
    def text(self) -> str:
        """The content as text: the string, or the text parts of a list joined."""
        content = self.get("content")
        if content.__class__ is str:
            return content
        if content is None:
            return ""
        if isinstance(content, str):
            return content
        return "".join(p.get("text") or p.get("refusal") or "" for p in content if p.get("type") in SPEAKING)


class Rollout(Record):
    """A whole episode: what ``rollout=`` and ``rollouts=`` give to a reward."""

    __slots__ = ()
    _fields = (
        "id",
        "group",
        "task",
        "messages",
        "ground_truth",
        "metadata",
        "steps",
        "stop_reason",
        "prompt_messages",
        "given_as_text",
        "own_columns",
    )
    if TYPE_CHECKING:
        id: str
        group: str
        task: str
        messages: list[Message]
        ground_truth: Any
        metadata: dict[str, Any]
        steps: list[Record]
        stop_reason: str
        prompt_messages: "int | None"
        given_as_text: "list[str] | None"
        own_columns: "dict[str, Any] | None"

    @property
    def answer(self) -> str:
        """The text of the last assistant message, or the empty string."""
        for m in reversed(self["messages"]):
            if m["role"] == "assistant":
                return m.text
        return ""


class _Result:
    """What the results share: fields given by name, item access beside attributes, equality.

    The fields that were given are the instance's ``__dict__``, which is what
    makes results cheap to build and to take apart in the sandbox.
    """

    _defaults: "dict[str, Any]" = {}
    _maps: "tuple[str, ...]" = ()

    def __init__(self, **fields: "Any") -> None:
        self.__dict__ = fields

    def __getattr__(self, name: str) -> "Any":
        if name in self._maps:
            value = self.__dict__[name] = {}
            return value
        try:
            return self._defaults[name]
        except KeyError:
            raise AttributeError(f"{type(self).__name__} has no field {name!r}") from None

    def __getitem__(self, name: str) -> "Any":
        try:
            return getattr(self, name)
        except AttributeError as e:
            raise KeyError(name) from e

    def __contains__(self, name: object) -> bool:
        return name in self._defaults

    def get(self, name: str, default: "Any" = None) -> "Any":
        return getattr(self, name, default)

    def keys(self) -> "list[str]":
        return list(self._defaults)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.model_dump() == other.model_dump()  # type: ignore[attr-defined]

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in self.__dict__.items())})"

    def model_dump(self, **_: "Any") -> "dict[str, Any]":
        """The result as plain dicts and lists."""
        return {k: _dump(getattr(self, k)) for k in self._defaults}

    dict = model_dump


def _dump(value: "Any") -> "Any":
    if isinstance(value, _Result):
        return value.model_dump()
    if isinstance(value, dict):
        return {k: _dump(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_dump(v) for v in value]
    return value


def check_names(kind: str, fields: "dict[str, Any]", known: "Any") -> None:
    """Refuses a name that is nearly a known one: what was meant would be lost without a word. Others are the author's own."""
    if fields.keys() <= known:
        return
    from difflib import get_close_matches

    for name in fields:
        if name not in known and isinstance(name, str):
            if near := get_close_matches(name.lower(), [k for k in known if k not in fields], 1, 0.8):
                raise TypeError(f"{kind} has {name!r}: did you mean {near[0]!r}?")


class MetricResult(_Result):
    """One named figure beside the score."""

    _defaults = {"score": 0.0, "is_score_valid": True, "reason": None, "data": None}
    if TYPE_CHECKING:

        def __init__(
            self,
            *,
            score: float,
            is_score_valid: bool = True,
            reason: "str | None" = None,
            data: "dict[str, Any] | None" = None,
        ) -> None: ...

        score: float
        is_score_valid: bool
        reason: "str | None"
        data: "dict[str, Any] | None"


class StepOutput(_Result):
    """The reward of one step.

    ``step_index`` counts the assistant messages after the prompt from 0, or all
    messages, those of the prompt too, if the reward's ``__merit__`` says ``"step_index": "message"``.
    """

    _defaults = {
        "step_index": None,
        "base_reward": None,
        "terminated": False,
        "control_plane_info": None,
        "metrics": None,
        "reason": None,
    }
    _maps = ("metrics",)
    if TYPE_CHECKING:

        def __init__(
            self,
            *,
            step_index: "int | str",
            base_reward: float,
            terminated: bool = False,
            control_plane_info: "dict[str, Any] | None" = None,
            metrics: "Mapping[str, MetricResult | float | dict[str, Any]] | None" = None,
            reason: "str | None" = None,
        ) -> None: ...

        step_index: "int | str"
        base_reward: float
        metrics: "dict[str, Any]"
        reason: "str | None"


class EvaluateResult(_Result):
    """What a reward says of one rollout.

    ``is_score_valid=False`` says that there is no valid score; ``error`` that
    the evaluation failed. Neither is ever taken for the number 0.
    """

    _defaults = {
        "score": None,
        "is_score_valid": True,
        "reason": None,
        "metrics": None,
        "step_outputs": None,
        "error": None,
        "trajectory_info": None,
        "final_control_plane_info": None,
    }
    _maps = ("metrics",)
    if TYPE_CHECKING:

        def __init__(
            self,
            *,
            score: "float | None" = None,
            is_score_valid: bool = True,
            reason: "str | None" = None,
            metrics: "Mapping[str, MetricResult | float | dict[str, Any]] | None" = None,
            step_outputs: "list[StepOutput] | None" = None,
            error: "str | None" = None,
            trajectory_info: "dict[str, Any] | None" = None,
            final_control_plane_info: "dict[str, Any] | None" = None,
        ) -> None: ...

        score: "float | None"
        is_score_valid: bool
        reason: "str | None"
        metrics: "dict[str, Any]"
        step_outputs: "list[StepOutput] | None"
        error: "str | None"
