"""The records of a conversation, made ahead for the host to fill.

To read a conversation out of a request takes longer than most rewards do. So
the list of messages, its records and those of their tool calls are made before
the snapshot, and for an evaluation the host writes into them, in memory, the
texts that it has laid down as strings: a reward pays for what it reads. They
are plain objects of Python like any others, and the reward may keep or change
them: memory is restored after every evaluation. Where it is not, and for what
does not fit, the host sends a request.
"""

from __future__ import annotations

from .models import FunctionCall, Message, ToolCall

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LONGEST = 256  # messages
CALLS = 8  # of one message

# Fields of a message, in the order in which a request has them, and how many
# messages of a conversation may have exactly these.
SHAPES = (
    (("role", "content"), 128),
    (("role", "content", "tool_calls"), 64),
    (("role", "content", "tool_call_id"), 64),
    (("role", "content", "name", "tool_call_id"), 64),
)

# Strings that are there already: with them a comparison ends at once.
TEXTS = ("", "system", "user", "assistant", "tool", "developer", "function")

# A string of each width of its characters, to copy the head from.
WIDTHS = ("a b", "\u00e9 b", "\u20ac b", "\U0001f600 b")

_held: "list[Any]" = []  # by more than their users: the host hands them out and writes no counts


def make(reward: "Any") -> "tuple[dict[str, Any], dict[str, Any]]":
    """The arguments of a reward, for the host to fill, and where all of it lies."""
    messages = [None] * LONGEST
    offered = {"messages": messages, "ground_truth": None, "metadata": {}}
    arguments = {name: value for name, value in offered.items() if reward.open or name in reward.accepts}
    shapes = [[Message(dict.fromkeys(fields)) for _ in range(count)] for fields, count in SHAPES]
    calls = [_call() for _ in range(2 * LONGEST)]
    lists = [[None] * CALLS for _ in range(LONGEST // 4)]
    for _ in range(2):
        _held.extend((messages, arguments, *calls, *lists, *(m for shape in shapes for m in shape)))
    _held.extend([*TEXTS] * (4 * LONGEST))
    return arguments, {
        "none": id(None),
        "messages": id(messages),
        "arguments": id(arguments),
        "named": list(arguments),
        "fields": [[*fields] for fields, _ in SHAPES],
        "shapes": [[*map(id, shape)] for shape in shapes],
        "calls": [*map(id, calls)],
        "lists": [*map(id, lists)],
        "texts": {text: id(text) for text in TEXTS},
        "widths": [*map(id, WIDTHS)],
    }


def _call() -> ToolCall:
    return ToolCall({"id": None, "type": None, "function": FunctionCall({"name": None, "arguments": None})})
