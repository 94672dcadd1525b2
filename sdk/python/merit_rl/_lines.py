"""Conversations as the lines that a server reads."""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Mapping, Sequence
from typing import Any, Iterable, Iterator, List, Optional, Set, Tuple

from .errors import InvalidInput

log = logging.getLogger("merit_rl")
_said: Set[str] = set()  # by this process

#: What trainers pass beside the columns.
NOT_COLUMNS = frozenset(("completion_ids", "trainer_state", "log_metric", "log_extra", "environments"))


#: What is sent for one conversation, and its group.
Line = Tuple[bytes, str]


class Encoder:
    """JSON of what trainers hold, on one line.

    Arrays and tensors are lists, times are ISO texts. What JSON cannot say
    (images, NaN, other objects) is sent as null, and said once.
    """

    def __init__(self, quiet: bool = False) -> None:
        self._quiet = quiet
        options: Mapping[str, Any] = {"ensure_ascii": False, "separators": (",", ":"), "default": self._other}
        self._encode = json.JSONEncoder(allow_nan=False, **options).encode

    def line(self, value: "dict[str, Any]") -> bytes:
        """The line of ``value``."""
        try:
            try:
                text = self._encode(value)
            except ValueError:  # not finite, or it holds itself
                text = self._encode(self._finite(value, 0))
        except (TypeError, ValueError, RecursionError) as e:
            hint = "pass texts, numbers, lists and dicts"
            raise InvalidInput(f"it is no JSON: {e}", where=str(value.get("id", "")), hint=hint) from e
        # A lone surrogate is no Unicode, and becomes a question mark.
        return text.encode("utf-8", "replace") + b"\n"

    def _other(self, value: Any) -> Any:
        for way in ("tolist", "isoformat", "model_dump"):
            f = getattr(value, way, None)
            if callable(f) and not isinstance(value, type):
                return f()
        if isinstance(value, Mapping):
            return dict(value)
        if isinstance(value, (set, frozenset)):
            return sorted(value)
        self._say(f"a {type(value).__module__}.{type(value).__qualname__}")
        return None

    def _finite(self, value: Any, depth: int) -> Any:
        if depth > 200:
            raise ValueError("it is nested too deeply, or holds itself")
        if isinstance(value, float):
            if math.isfinite(value):
                return value
            self._say(str(float(value)))
            return None
        if isinstance(value, Mapping):
            return {k: self._finite(v, depth + 1) for k, v in value.items()}
        if isinstance(value, (list, tuple)):
            return [self._finite(v, depth + 1) for v in value]
        if value is None or isinstance(value, (str, int)):
            return value
        return self._finite(self._other(value), depth + 1)

    def _say(self, what: str) -> None:
        if not self._quiet and what not in _said:
            _said.add(what)
            log.warning("JSON cannot say %s: rewards get null for it", what)


def conversation(prompt: Any, completion: Any) -> List[Any]:
    """The messages of a prompt and a completion, each a text or a list of messages."""
    messages: List[Any] = []
    for said, role in ((prompt, "user"), (completion, "assistant")):
        if isinstance(said, str):
            messages.append({"role": role, "content": said})
        elif isinstance(said, Mapping):
            messages.append(said)
        elif said is not None:
            messages.extend(said)
    for i, m in enumerate(messages):
        if isinstance(m, dict) and m.get("tool_calls"):
            messages[i] = {**m, "tool_calls": [_tool_call(c) for c in m["tool_calls"]]}
    return messages


def _tool_call(call: Any) -> Any:
    """A tool call in OpenAI's form, where the arguments are text; chat templates have an object there."""
    f = call.get("function") if isinstance(call, dict) else None
    if isinstance(f, dict) and not isinstance(f.get("arguments"), (str, type(None))):
        arguments = json.dumps(f["arguments"], ensure_ascii=False, default=str)
        return {**call, "function": {**f, "arguments": arguments}}
    return call


class Columns:
    """The columns of a batch, one conversation a row, as trainers pass them."""

    def __init__(
        self, prompts: Optional[Sequence[Any]], completions: Sequence[Any], columns: Mapping[str, Any], truth: str
    ) -> None:
        self.prompts, self.completions, self._truth = prompts, completions, truth
        self.columns = {k: _values(v) for k, v in columns.items() if k not in NOT_COLUMNS}
        given: List[Tuple[str, Any]] = [*self.columns.items()]
        if prompts is not None:
            given.append(("prompts", prompts))
        for name, values in given:
            what = None
            if values is None:
                what = f"column {name} is no list: it needs one value for each completion"
            elif len(values) != len(completions):
                what = f"column {name} has {len(values)} values for {len(completions)} completions"
            if what:
                raise InvalidInput(what, where="the arguments of the reward", hint="pass lists of one length")

    def row(self, i: int) -> "dict[str, Any]":
        """The conversation of row i, with everything that the reward may read."""
        prompt = None if self.prompts is None else self.prompts[i]
        row: "dict[str, Any]" = {"id": f"completion-{i}", "messages": conversation(prompt, self.completions[i])}
        metadata: "dict[str, Any]" = {}
        for name, values in self.columns.items():
            value = values[i]
            if name == self._truth:
                row["ground_truth"] = value
            elif name == "metadata" and isinstance(value, Mapping):
                metadata = {**value, **metadata}
            else:
                metadata[name] = value
        if isinstance(self.completions[i], str):
            metadata.setdefault("completion_format", "text")
        if metadata:
            row["metadata"] = metadata
        return row

    def line(self, encoder: Encoder, i: int, group: str, first: int = 0) -> Line:
        """What is sent of row i, before which there are ``first`` rows of other processes."""
        row = self.row(i)
        row["id"], row["group"] = f"completion-{first + i}", group
        return encoder.line(row), group

    def question(self, i: int) -> str:
        """What row i was asked, and what is right there: one text for the same prompt and ground truth."""
        truth = self.columns[self._truth][i] if self._truth in self.columns else None
        prompt = None if self.prompts is None else self.prompts[i]
        return json.dumps([prompt, truth], sort_keys=True, default=repr)


def _values(column: Any) -> Any:
    if hasattr(column, "tolist"):  # an array gives numbers of Python
        column = column.tolist()
    return column if isinstance(column, Sequence) and not isinstance(column, (str, bytes)) else None


def batches(lines: Iterable[Line], most: int = 1 << 18) -> Iterator[List[Line]]:
    """Lines in lists of about ``most`` bytes."""
    batch: List[Line] = []
    size = 0
    for line in lines:
        batch.append(line)
        size += len(line[0])
        if size >= most:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
