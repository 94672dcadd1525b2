"""Rows of a file for ``python -m merit_reward``, read as the sandbox's host reads them.

docs/what-rewards-see.md says what a row means. The usual forms are read here:
a conversation in the form of OpenAI's chat API, or a prompt and a completion.
Forms that only the host turns into these are refused, never read as less.
"""

from __future__ import annotations

import json
from difflib import get_close_matches

from .models import SPEAKING
from .shapes import OWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .runner import Reward

NAMES = ("group", "id", "task")  # columns that trainers' rows have, too
TYPES: "dict[str, Any]" = {  # of Merit's own fields: a column of another type is only a column
    "id": str, "group": str, "task": str, "seed": int, "metadata": dict, "steps": list, "stop_reason": str, "env_metrics": dict,
    "bootstrap": (int, float), "error": str, "outcome": str, "evaluation": dict, "reward_notes": dict, "own_columns": dict,
    "prompt_messages": int, "given_as_text": list,
}  # fmt: skip
SAID = frozenset(("error", "outcome", "stop_reason", "seed", "steps", "env_metrics", "evaluation"))  # fields that a parameter may ask for
FIELDS = frozenset((*TYPES, "messages", "ground_truth"))
ROLES = frozenset(("system", "developer", "user", "assistant", "tool", "function"))
WORDLESS = frozenset(("reasoning", "thinking", "image_url", "input_image", "input_audio", "file", "input_file"))


class Unread(ValueError):
    """A row that only merit eval reads, or nobody."""


def read(text: str, number: int) -> "dict[str, Any]":
    """The row on a line, as a rollout's fields; what it has under names of Merit's is in own_columns."""
    row = json.loads(text, object_pairs_hook=_once, parse_constant=_constant)
    if not isinstance(row, dict):
        raise Unread("the line is not an object")
    if row.get("messages") is None and row.get("completion") is not None:
        row = _joined(row)
    if not isinstance(row.get("messages"), list):
        raise Unread("the row needs messages as a list, or prompt and completion")
    _names(row)
    row["messages"] = [_message(m, f"messages[{i}]") for i, m in enumerate(row["messages"])]
    own = _yielded(row)
    inner = row.get("metadata", {})
    columns = {k: v for k, v in row.items() if k not in FIELDS}
    own = {**{k: v for k, v in row.items() if k in inner and k != "messages"}, **own}
    if "metadata" in row and not row.get("steps") and "own_columns" not in row:
        own.setdefault("metadata", inner)
    metadata = {**inner, **columns}
    fields = {"id": f"line-{number}", "group": "", "task": "", "stop_reason": "", "steps": [], **{k: v for k, v in row.items() if k in FIELDS}}
    if not 0 <= fields.get("prompt_messages", 0) <= len(row["messages"]):
        raise Unread(f"prompt_messages is {row['prompt_messages']}, and there are {len(row['messages'])} messages")
    fields["metadata"] = {k: metadata[k] for k in sorted(metadata)}
    fields["made"] = [name for name in NAMES if name not in row]
    fields["own_columns"] = {**row.get("own_columns", {}), **own}
    return fields


def of(reward: "Reward", fields: "dict[str, Any]") -> "tuple[dict[str, Any], dict[str, Any]]":
    """The fields as a reward gets them, and what it gets beside them by name: id, group, task and other fields are columns for one that asks."""
    every = OWN in reward.accepts and (reward.open or "metadata" in reward.accepts)
    own, metadata = dict(fields["own_columns"]), fields["metadata"]
    for name in NAMES:
        value = metadata.get(name, fields[name] if name not in fields["made"] else "")
        if name not in own and (name in reward.accepts or every) and (name in metadata or value):
            own[name] = value
    asked = {k: fields[k] for k in sorted(SAID & reward.accepts) if fields.get(k) and k not in metadata}
    return {**{k: v for k, v in fields.items() if k != "made"}, "own_columns": own}, {} if reward.group or reward.whole else asked


def unanswered(fields: "dict[str, Any]", boundary: int) -> str:
    """Why no reward is asked about a row; empty if one is."""
    if any(m["role"] == "assistant" for m in fields["messages"][boundary:]):
        return ""
    return f"there is no assistant message after the {boundary} messages of the prompt" if boundary else "there is no assistant message"


def _once(pairs: "list[tuple[str, Any]]") -> "dict[str, Any]":
    made = dict(pairs)
    if len(made) < len(pairs):
        names = [k for k, _ in pairs]
        raise Unread(f"{max(names, key=names.count)} is given twice")
    return made


def _constant(name: str) -> float:
    raise Unread(f"{name} is not JSON")


def _joined(row: "dict[str, Any]") -> "dict[str, Any]":
    """The row with messages in the place of a prompt and a completion."""
    prompt, completion = _spoken(row.get("prompt"), "prompt", "user"), _spoken(row["completion"], "completion", "assistant")
    texts = [name for name in ("prompt", "completion") if isinstance(row.get(name), str)]
    rest = {k: v for k, v in row.items() if k not in ("messages", "prompt", "completion", "given_as_text")}
    return {**rest, "messages": prompt + completion, "prompt_messages": len(prompt), **({"given_as_text": texts} if texts else {})}


def _spoken(value: "Any", name: str, role: str) -> "list[Any]":
    if value is None:
        return []
    if isinstance(value, str):
        return [{"role": role, "content": value}]
    if not isinstance(value, list):
        raise Unread(f"{name} is neither a text nor a list of messages")
    return value


def _names(row: "dict[str, Any]") -> None:
    """Refuses columns that are nearly what Merit reads."""
    for name in row.keys() - FIELDS:
        known = name.casefold()
        if known in ("messages", "ground_truth") or row.get("ground_truth") is None and get_close_matches(name, ["ground_truth"], 1, 0.9):
            raise Unread(f"the column {name} is not read: write {'messages' if known == 'messages' else 'ground_truth'}")


def _yielded(row: "dict[str, Any]") -> "dict[str, Any]":
    """Takes columns out of the row that only have the name of a field of Merit's; the host has a null only of some."""
    own = {}
    for name in TYPES.keys() & row.keys():
        value = row[name]
        if value is None or not isinstance(value, TYPES[name]) or isinstance(value, bool) or name == "steps" and not all(isinstance(s, dict) for s in value):
            del row[name]
            if value is not None or name in (*NAMES, "metadata"):
                own[name] = value
            if name in NAMES and isinstance(value, (int, float)) and not isinstance(value, bool):
                row[name] = json.dumps(value)
            if name == "metadata" and isinstance(value, str) and value.lstrip().startswith("{"):
                raise Unread("metadata is an object written as text")
    return own


def _message(m: "Any", at: str) -> "dict[str, Any]":
    """A message in the one form that rewards get."""
    if not isinstance(m, dict) or m.get("role") not in ROLES:
        raise Unread(f"{at}.role is {json.dumps(m.get('role')) if isinstance(m, dict) else 'missing'}, not one of {', '.join(sorted(ROLES))}")
    if "content" not in m or not isinstance(m["content"], (str, list, type(None))):
        raise Unread(f"{at}.content is neither a text nor a list of parts nor null")
    for i, part in enumerate(m["content"] if isinstance(m["content"], list) else ()):
        kind = part.get("type") if isinstance(part, dict) else 0
        if kind not in WORDLESS and (kind not in SPEAKING or not isinstance(part.get("refusal" if kind == "refusal" else "text"), str)):
            raise Unread(f"{at}.content[{i}] is not a part of text")
    for i, call in enumerate(m.get("tool_calls") or ()):
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(function, dict) or call.keys() != {"id", "type", "function"} or call["type"] != "function" or not _function(function):
            raise Unread(f"{at}.tool_calls[{i}] is not an id, the type function, and a function with a name and arguments as text")
    return {k: v for k, v in m.items() if v is not None or k not in ("name", "tool_calls", "tool_call_id")}


def _function(function: "dict[str, Any]") -> bool:
    return function.keys() == {"name", "arguments"} and all(isinstance(v, str) for v in function.values())
