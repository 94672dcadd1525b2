"""What the shapes of _shapes read of a conversation: the prompt, the completion and their texts."""

from __future__ import annotations

from .absent import UnavailableError


TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

    from .models import Message

PROMPT = "__prompt__"  # how many messages are the prompt's, if the row or the steps of the trajectory say so
TEXT = "__text__"  # what of the row was a text and not messages: 1 for the prompt, 2 for the completion, 3 for both
OWN = "__own__"  # the columns of the row under names that Merit uses itself, such as id, task and metadata
FLAT = "__flat__"  # a shape that accepts this gets those of OWN as columns whose names are not taken: those of NOT_COLUMNS are
MERGED = "__merged__"  # a shape that accepts this may get those of OWN in the metadata
NOT_COLUMNS = frozenset(("messages", "ground_truth", "metadata", "rollout", PROMPT, TEXT, OWN, FLAT, MERGED))
# What the trainer gives and Merit does not have.
ABSENT = {
    "TRL": ("completion_ids", "trainer_state", "environments"),
    "ms-swift": ("trainer_state", "response_token_ids"),
    "verl": ("reward_router_address", "reward_model_tokenizer"),
    "verl, of a batch": ("reward_router_address", "reward_model_tokenizer"),
}


def shipped(func: "Any") -> bool:
    """Whether a function is one that reward-kit or eval-protocol ships."""
    return str(getattr(func, "__module__", "")).startswith(("reward_kit.", "eval_protocol."))


def split(member: "dict[str, Any]") -> "tuple[list[Message], list[Message]]":
    """The messages of the prompt and of the completion.

    The row says where the prompt ends, by a prompt and a completion, or its
    steps do; else it ends with the last message of the user or the system.
    """
    messages = member["messages"]
    if PROMPT in member:
        n = member[PROMPT]
    else:
        n = len(messages)
        while n and messages[n - 1]["role"] not in ("user", "system", "developer"):
            n -= 1
    return messages[:n], messages[n:]


def parts(member: "dict[str, Any]", texts: bool = False) -> "tuple[Any, Any]":
    """The prompt and the completion as the row had them: each a text or a list of messages. With ``texts`` both are texts."""
    prompt, completion = split(member)
    form = 3 if texts else member[TEXT] if TEXT in member else 0
    return text(prompt) if form & 1 else prompt, said(completion) if form & 2 else completion


def said(completion: "list[Message]") -> str:
    """A completion as text: what its messages of the assistant say, a line each."""
    return "\n".join([m.text for m in completion if m["role"] == "assistant"])


def text(prompt: "list[Message]") -> str:
    """A prompt as text: what its messages say, a line each."""
    return "\n".join([m.text for m in prompt])


def unopened(metadata: "dict[str, Any]", own: "dict[str, Any]") -> "dict[str, Any]":
    """The metadata without the entries of the object of that name, if the row had one: it is a column itself."""
    inside = own.get("metadata")
    return {k: v for k, v in metadata.items() if k not in inside} if isinstance(inside, dict) else metadata


def inner(func: "Any") -> "Any":
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
