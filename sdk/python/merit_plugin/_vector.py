"""Environments that step all slots at once."""

from __future__ import annotations

from collections import Counter
from time import monotonic
from typing import Any

import numpy as np

from . import _columns as columns
from ._slots import FAULTY, LIVE, OVER, UNREADY, encoded
from .environment import Vector
from .fault import Fault
from .turns import Turns


class Slots:
    """Has a vector of slots step at once. While it is at work, since is the time at
    which that began."""

    def __init__(self, environment: type[Vector], options: Any, split: str, slots: int):
        self._vector = self.described = environment(options, split, slots)
        self._states = np.zeros(slots, np.uint8)
        self._count, self._actions = slots, len(self.described.actions)
        self._turns = Turns(slots, self._actions, self.described.feature_shape)
        self.at, self.since = 0, 0.0

    def exchange(self, raw: bytes) -> list[Any]:
        """Answers a Batch with the parts of a BatchReply."""
        self.since = monotonic()
        batch, turns = columns.Batch(raw, self._count, self._actions), self._turns
        turns.clear(batch.want_text, batch.want_features)
        ops = np.frombuffer(batch.ops, np.uint8)
        steps, resets = np.flatnonzero(ops == columns.STEP), np.flatnonzero(ops == columns.RESET)
        actions = self._chosen(batch, steps)
        ready = self._states[steps] == LIVE
        if not ready.all():
            for slot in steps[~ready]:
                turns.fail(slot, UNREADY[int(self._states[slot])])
            actions = actions[ready] if self._actions else [a for a, r in zip(actions, ready) if r]
            steps = steps[ready]
        if len(steps):
            self._vector.step(steps, actions, turns)
        if len(resets):
            self._vector.reset(resets, np.frombuffer(batch.seeds, "<u8"), turns)
        return self._reply(batch, ops != columns.SKIP, resets)

    def _chosen(self, batch: columns.Batch, steps: np.ndarray) -> Any:
        if not self._actions:
            return batch.texts
        chosen = np.frombuffer(batch.actions, "<i4")
        if len(steps) < len(chosen):
            chosen = chosen[steps]
        if len(chosen) and not 0 <= chosen.min() <= chosen.max() < self._actions:
            raise Fault(f"an action is not one of {self._actions}", kind="protocol")
        return chosen

    def _reply(self, batch: columns.Batch, asked: np.ndarray, resets: np.ndarray) -> list[Any]:
        turns = self._turns
        anchors = _arena(turns.anchor, turns)
        texts = None if not turns.wants_text else anchors if turns.text is None else _arena(turns.text, turns)
        over = turns.terminated | turns.truncated
        self._check(asked & ~over, resets)
        flags = turns.terminated.view(np.uint8) | turns.truncated.view(np.uint8) << 1 | turns.invalid_action.view(np.uint8) << 3
        self._states[asked] = np.where(over, OVER, LIVE)[asked]
        if turns.failed:
            failed = list(turns.failed)
            self._states[failed], flags[failed] = FAULTY, columns.FAILED
            turns.reward[failed], turns.mask[failed], turns.features[failed] = 0, False, 0
            turns.events = [e for e in turns.events if e[0] not in turns.failed]
            turns.events += [(slot, "error", "", why) for slot, why in turns.failed.items()]
        features = _bytes(turns.features) if turns.wants_features else b""
        events = [columns.event(*e) for e in sorted(turns.events, key=lambda e: e[0])]
        return columns.reply(batch.seq, anchors, texts, features, _bytes(turns.mask), _bytes(turns.reward), flags.data, events)

    def _check(self, going: np.ndarray, resets: np.ndarray) -> None:
        """Finds what the host would end the process for, while it costs only some
        slots."""
        turns = self._turns
        finite = np.isfinite(turns.reward)
        if not finite.all():
            for slot in np.flatnonzero(~finite):
                turns.fail(slot, f"ValueError: reward is {turns.reward[slot]}")
        if turns.reward[resets].any():
            for slot in resets[turns.reward[resets] != 0]:
                turns.fail(slot, f"ValueError: reward {turns.reward[slot]} right after a reset")
        if turns.wants_features and not np.isfinite(turns.features).all():
            for slot in np.flatnonzero(~np.isfinite(turns.features).reshape(self._count, -1).all(axis=1)):
                turns.fail(slot, "ValueError: features are not all finite")
        if self._actions and not turns.mask.all():
            for slot in np.flatnonzero(going & ~turns.mask.any(axis=1)):
                turns.fail(slot, "ValueError: the episode goes on but no action is available")
        if turns.events:
            for slot, count in Counter(e[0] for e in turns.events).items():
                if count > columns.MAX_EVENTS:
                    turns.fail(slot, f"ValueError: {count} tool results, infos and metrics in one turn, at most {columns.MAX_EVENTS}")

    def encode(self, messages: list[str], answer: str) -> tuple[list[Any], int]:
        return encoded(self._vector, messages, answer)

    def render(self, slot: int) -> str:
        return self._vector.render(slot)

    def snapshot(self, slot: int) -> bytes:
        return self._states[slot : slot + 1].tobytes() + self._vector.snapshot(slot)

    def restore(self, slot: int, state: bytes) -> None:
        self._states[slot] = FAULTY
        self._vector.restore(slot, state[1:])
        self._states[slot] = state[0]

    def close(self) -> None:
        self._vector.close()


def _arena(texts: Any, turns: Turns) -> tuple[bytes, bytes]:
    """Texts one behind the other, and where each one ends."""
    slots = len(turns.reward)
    if len(texts) != slots:
        raise ValueError(f"anchor or text has {len(texts)} rows, not {slots}")
    if isinstance(texts, np.ndarray) and texts.dtype.kind == "S":
        cells = np.ascontiguousarray(texts).view(np.uint8).reshape(slots, -1)
        there = cells != 0
        whole, ends = cells[there].tobytes(), np.cumsum(there.sum(axis=1), dtype="<u4").tobytes()
        if whole.isascii():
            return whole, ends
    rows = []
    for slot, text in enumerate(texts):
        try:
            rows.append(columns.encoded(text))
        except (TypeError, ValueError) as e:
            rows.append(b"")
            turns.fail(slot, f"{type(e).__name__}: {e}")
    return columns.arena(rows)


def _bytes(column: np.ndarray) -> memoryview:
    """A column as bytes, where it lies."""
    column = column.astype(column.dtype.newbyteorder("<"), copy=False)
    return column.reshape(-1).view(np.uint8).data
