"""What tests of eval-protocol are written with: rows, and the decorator that marks a test."""

from __future__ import annotations

from .absent import NotHereError
from .decorator import reward_function
from .models import Message, Record, _Result

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable


class InputMetadata(_Result):
    """Where a row comes from: ``dataset_info`` holds the columns of the data."""

    _defaults = {"row_id": None, "completion_params": None, "dataset_info": None, "session_data": None}
    _maps = ("completion_params", "dataset_info", "session_data")


class ExecutionMetadata(_Result):
    """What is known of the rollout."""

    _defaults = {"rollout_id": None, "finish_reason": None, "invocation_id": None, "experiment_id": None, "run_id": None, "extra": None}


class Status(_Result):
    """How a rollout ended: with the code 100, since only what has ended is scored."""

    _defaults = {"code": 100, "message": "Rollout finished", "details": None}

    def is_finished(self) -> bool:
        return self.code == 100

    def is_running(self) -> bool:
        return self.code == 101

    def is_error(self) -> bool:
        return 0 < self.code < 100

    def is_stopped(self) -> bool:
        return not self.is_running()


class EvaluationRow(_Result):
    """One conversation with its ground truth; a test puts its ``evaluation_result`` into it."""

    _defaults = {
        "messages": None,
        "tools": None,
        "input_metadata": None,
        "rollout_status": None,
        "ground_truth": None,
        "evaluation_result": None,
        "execution_metadata": None,
        "created_at": None,
        "eval_metadata": None,
        "pid": None,
    }

    def get_conversation_length(self) -> int:
        return len(self.messages)

    def get_assistant_messages(self) -> "list[Message]":
        return self._of("assistant")

    def get_user_messages(self) -> "list[Message]":
        return self._of("user")

    def last_assistant_message(self) -> "Message | None":
        return (self._of("assistant") or [None])[-1]

    def get_first_user_message(self) -> "Message | None":
        return (self._of("user") or [None])[0]

    def get_system_message(self) -> Message:
        return (self._of("system") or [Message(role="system", content="")])[0]

    def get_input_metadata(self, key: str, default: "Any" = None) -> "Any":
        return self.input_metadata.get(key, default)

    def _of(self, role: str) -> "list[Message]":
        return [m for m in self.messages if m["role"] == role]


class ChatCompletionContentPartTextParam(Record):
    """A part of a message that is text."""

    __slots__ = ()


class ChatCompletionContentPartImageParam(Record):
    """A part of a message that is an image."""

    __slots__ = ()


ChatCompletionContentPartParam = ChatCompletionContentPartTextParam


def with_parts(messages: "list[Message]") -> "list[Message]":
    """The messages with the parts of their contents as eval-protocol's own rewards look for them."""
    kinds = {"text": ChatCompletionContentPartTextParam, "image_url": ChatCompletionContentPartImageParam}
    for m in messages:
        if isinstance(m.get("content"), list):
            m["content"] = [kinds.get(p.get("type"), Record)(p) for p in m["content"]]
    return messages


def row(member: "dict[str, Any]") -> EvaluationRow:
    """The row of a member of a group, or of one alone."""
    r = member["rollout"]
    name = r.get("id")
    return EvaluationRow(
        messages=member["messages"],
        tools=None,
        ground_truth=member.get("ground_truth"),
        input_metadata=InputMetadata(row_id=r.get("task") or name, dataset_info=member["metadata"]),
        execution_metadata=ExecutionMetadata(rollout_id=name, finish_reason=r.get("stop_reason") or None),
        rollout_status=Status(),
    )


def evaluation_test(*, mode: str = "pointwise", **_options: "Any") -> "Callable[[Any], Any]":
    """Marks a test of eval-protocol as a reward.

    It scores what was rolled out already: the data, the processor, the models
    and the thresholds that the test names have no meaning here.
    """
    if mode not in ("pointwise", "groupwise", "all"):
        raise ValueError(f"mode is {mode!r}; it must be 'pointwise', 'groupwise' or 'all'")
    return reward_function(mode="pointwise" if mode == "pointwise" else "batch")  # type: ignore[no-any-return]


class RolloutProcessor:
    """Stands in for what would roll out: it is accepted, and does nothing."""

    def __init__(self, *_arguments: "Any", **_named: "Any") -> None:
        pass


PROCESSORS = (
    "AgentRolloutProcessor",
    "GithubActionRolloutProcessor",
    "MCPGymRolloutProcessor",
    "NoOpRolloutProcessor",
    "RemoteRolloutProcessor",
    "SingleTurnRolloutProcessor",
    "RolloutProcessorConfig",
    "ExceptionHandlerConfig",
    "BackoffConfig",
)
for _name in PROCESSORS:
    globals()[_name] = type(_name, (RolloutProcessor,), {"__module__": __name__})


def default_dataset_adapter(rows: "list[dict[str, Any]]") -> "list[dict[str, Any]]":
    """What a test names as its adapter; Merit reads the data itself."""
    return rows


# What both packages have and a reward cannot have, with the reason.
_NETWORK = (
    "AnthropicPolicy FireworksPolicy LiteLLMPolicy OpenAIPolicy MCPVectorEnv make rollout test_mcp create_llm_resource aha_judge "
    "RemoteServer InitRequest OpenAIResponsesAdapter LangfuseAdapter BraintrustAdapter create_app get_fireworks_api_key "
    "get_fireworks_account_id FireworksTracingHttpHandler ElasticsearchDirectHttpHandler RewardFunction PlaybackPolicyBase"
).split()
_AGENTS = "TaskDefinitionModel EvaluationCriteriaModel ResourceServerConfig MCPMultiClientConfiguration".split()
_DATA = "DynamicDataLoader InlineDataLoader DataLoaderConfig load_jsonl get_config load_config RewardKitConfig".split()


def refuse(module: str, name: str) -> None:
    """Says in one sentence why a name of reward-kit or eval-protocol is not there."""
    if name in _NETWORK:
        raise NotHereError(f"{module}.{name} asks a model or a server, and a reward has no network")
    if name in _AGENTS:
        raise NotHereError(f"{module}.{name} sets up agents and servers, and a reward has neither")
    if name in _DATA:
        raise NotHereError(f"{module}.{name} reads data, and a reward is given its trajectory")
