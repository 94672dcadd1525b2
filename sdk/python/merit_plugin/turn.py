"""What a slot says after a reset or a step."""

from __future__ import annotations

import json
import re
from array import array
from math import isfinite
from typing import Any, Iterable, NoReturn

from . import _columns as columns
from .fault import Fault

METRIC = re.compile(r"[A-Za-z0-9_]{1,256}")


class Features(bytes):
    """An observation tensor that was packed and checked once: what a table of
    observations holds."""

    def __new__(cls, values: Iterable[float]) -> Features:
        return super().__new__(cls, packed(values))


class Turn:
    """What a slot says. The SDK clears it before each call and reads it
    afterwards."""

    __slots__ = (
        "anchor", "text", "features", "mask", "reward", "terminated", "truncated", "invalid_action",
        "wants_text", "wants_features", "_events",
    )

    anchor: str | bytes  # the raw observation: two states are the same if and only if these are equal
    text: str | None  # what a reader would see; None = the anchor
    features: Any  # floats in the order of feature_shape: Features, a numpy array or anything iterable
    mask: Any  # per action, whether it is available; None = all are
    reward: float  # the environment's own; finite, 0 after a reset
    terminated: bool  # the episode reached an end state
    truncated: bool  # the environment cut the episode
    invalid_action: bool  # the action was understood but had no legal effect
    wants_text: bool  # somebody reads text …
    wants_features: bool  # … or features, which need not be computed otherwise

    def __init__(self, wants_text: bool = True, wants_features: bool = True):
        self.anchor, self.text, self.features, self.mask, self.reward = "", None, None, None, 0.0
        self.terminated = self.truncated = self.invalid_action = False
        self.wants_text, self.wants_features = wants_text, wants_features
        self._events: list[tuple[str, str, str]] | None = None

    def tool(self, name: str, content: str) -> None:
        """Reports what a tool answered; it becomes a tool message of the
        conversation."""
        self._say("tool_result", name, content)

    def info(self, key: str, value: Any) -> None:
        """Attaches a JSON value to the step."""
        self._say("info", key, json.dumps(value, allow_nan=False))

    def metric(self, name: str, value: float) -> None:
        """Says a number about the episode; the last one of a name counts."""
        self._say("metric", *measured(name, value))

    def task(self, messages: Iterable[dict] = (), *, ground_truth: Any = None, metadata: dict[str, Any] | None = None, id: str = "") -> None:
        """Says in reset what the episode starts from. The messages, if there are
        any, replace text in the conversation; the ground truth and
        the metadata reach the rewards; the id names the start in what is written."""
        text, task = started(messages, ground_truth, metadata, id)
        if self.text is None:
            self.text = text
        self._say("task", "", task)

    def refuse(self, why: str) -> NoReturn:
        """Ends encode for a recorded call that is not one of this environment. why is
        a few words that many calls share: Merit counts the calls by it."""
        raise Fault(why, boundary="data", kind="refused")

    def _say(self, kind: str, name: str, message: str) -> None:
        if self._events is None:
            self._events = []
        self._events.append((kind, name, message))
        if len(self._events) > columns.MAX_EVENTS:
            raise ValueError(f"more than {columns.MAX_EVENTS} tool results, infos and metrics in one turn")


def packed(values: Any) -> bytes:
    """Finite numbers as a column of 32 bits each."""
    if hasattr(values, "astype"):  # numpy, which need not be imported for this
        values = values.astype("<f4").tobytes()
        finite = isfinite(sum(memoryview(values).cast("f")))
    else:
        values = array("f", values)
        finite = isfinite(sum(values))  # in 64 bits, which this many of 32 cannot exceed
        values = columns.little(values)
    if not finite:
        raise ValueError("features are not all finite")
    return values


def measured(name: str, value: float) -> tuple[str, str]:
    """A metric's name and its value as a JSON number."""
    if not METRIC.fullmatch(name):
        raise ValueError(f"a metric is named with letters, digits and _, not {name!r}")
    value = float(value)
    if not isfinite(value):
        raise ValueError(f"metric {name} is {value}")
    return name, repr(value)


def started(messages: Iterable[dict], ground_truth: Any, metadata: dict[str, Any] | None, id: str) -> tuple[str | None, str]:
    """The text of a task's last message, if it is one, and the task as JSON."""
    task: dict[str, Any] = {"id": id}
    if messages := list(messages):
        task["messages"] = messages
    if ground_truth is not None:
        task["ground_truth"] = ground_truth
    if metadata:
        task["metadata"] = metadata
    said = json.dumps(task, ensure_ascii=False, allow_nan=False)
    if len(said.encode()) > columns.MAX_TEXT:
        raise ValueError(f"the task has {len(said.encode())} bytes as JSON, at most {columns.MAX_TEXT}")
    last = messages[-1].get("content") if messages else None
    return last if isinstance(last, str) else None, said
