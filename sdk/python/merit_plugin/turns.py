"""What all slots say at once: columns of numpy with one row a slot."""

from __future__ import annotations

import json
from typing import Any, Iterable

import numpy as np

from .turn import measured, started


class Column:
    """Is written in place, as in turns.reward[rows] = 1, or as a whole. It keeps its
    shape and its type."""

    def __set_name__(self, _owner: type, name: str) -> None:
        self._name = name

    def __get__(self, turns: Turns, _owner: type | None = None) -> np.ndarray:
        return turns.columns[self._name]

    def __set__(self, turns: Turns, values: Any) -> None:
        np.copyto(turns.columns[self._name], values, casting="same_kind")


class Turns:
    """What the slots say. The SDK clears it before each batch and reads the rows of
    those that were reset or stepped."""

    reward = Column()  # float64, 0 at first; finite, 0 after a reset
    terminated = Column()  # bool: the episode reached an end state
    truncated = Column()  # bool: the environment cut the episode
    invalid_action = Column()  # bool: the action was understood but had no legal effect
    mask = Column()  # bool, slots × actions, True at first: the action is available
    features = Column()  # float32, slots × feature_shape, 0 at first
    anchor: Any  # a text for each slot: a list of str or bytes, or an array of numpy's type S
    text: Any  # the same, for readers; None = the anchors
    wants_text: bool  # somebody reads text …
    wants_features: bool  # … or features, which need not be computed otherwise

    def __init__(self, slots: int, actions: int, feature_shape: Iterable[int]):
        shape = tuple(feature_shape) or (0,)
        self.columns = {name: np.zeros(slots, bool) for name in ("terminated", "truncated", "invalid_action")}
        self.columns |= {"reward": np.zeros(slots), "mask": np.zeros((slots, actions), bool), "features": np.zeros((slots, *shape), np.float32)}
        self._slots = slots
        self.clear(False, False)

    def clear(self, wants_text: bool, wants_features: bool) -> None:
        """Makes the columns what they are at first."""
        for name, column in self.columns.items():
            column.fill(name == "mask")
        self.wants_text, self.wants_features = wants_text, wants_features
        self.anchor, self.text = [""] * self._slots, None
        self.events: list[tuple[int, str, str, str]] = []
        self.failed: dict[int, str] = {}

    def fail(self, slot: int, message: str) -> None:
        """Breaks a slot: Merit hears why and resets it."""
        self.failed.setdefault(int(slot), message)

    def tool(self, slot: int, name: str, content: str) -> None:
        """See Turn.tool."""
        self.events.append((int(slot), "tool_result", name, content))

    def info(self, slot: int, key: str, value: Any) -> None:
        """See Turn.info."""
        self.events.append((int(slot), "info", key, json.dumps(value, allow_nan=False)))

    def metric(self, slot: int, name: str, value: float) -> None:
        """See Turn.metric."""
        self.events.append((int(slot), "metric", *measured(name, value)))

    def task(
        self, slot: int, messages: Iterable[dict] = (), *, ground_truth: Any = None, metadata: dict[str, Any] | None = None, id: str = "",
    ) -> None:
        """See Turn.task; what the slot's text is has to be said besides."""
        self.events.append((int(slot), "task", "", started(messages, ground_truth, metadata, id)[1]))
