"""Environments that are written one slot at a time, as a vector of slots."""

from __future__ import annotations

import traceback
from array import array
from math import isfinite
from time import monotonic
from typing import Any

from . import _columns as columns
from .environment import Environment
from .fault import Fault
from .turn import Features, Turn, packed

FRESH, LIVE, OVER, FAULTY = range(4)
UNREADY = {
    FRESH: "stepped before its first reset", OVER: "stepped after the end of its episode",
    FAULTY: "stepped after it failed; only a reset helps",
}


class Slots:
    """Steps the slots in turn. While it is at work, at is the slot and since the
    time at which that began."""

    def __init__(self, environment: type[Environment], options: Any, split: str, slots: int):
        self._slots = [environment(options, split) for _ in range(slots)]
        self.described = first = self._slots[0]
        self._states = bytearray(slots)
        self._width = features(first)
        self._all = b"\1" * len(first.actions)
        self.at, self.since = 0, 0.0
        self._mourned: set[tuple] = set()

    def exchange(self, raw: bytes) -> list[Any]:
        """Answers a Batch with the parts of a BatchReply."""
        slots, states, actions = self._slots, self._states, len(self._all)
        batch = columns.Batch(raw, len(slots), actions)
        chosen = columns.ints("i", batch.actions) if actions else None
        said, seeds = iter(batch.texts), iter(columns.ints("Q", batch.seeds))
        rows = _Rows(batch.want_text, batch.want_features, self._width, self._all)
        turn = Turn(batch.want_text, batch.want_features)
        for i, op in enumerate(batch.ops):
            if op == columns.SKIP:
                rows.skip()
                continue
            self.at, self.since = i, monotonic()
            turn.__init__(batch.want_text, batch.want_features)
            action = seed = None
            if op == columns.RESET:
                seed = next(seeds)
            else:
                action = chosen[i] if actions else next(said)
            try:
                if op == columns.RESET:
                    slots[i].reset(seed, turn)
                elif states[i] == LIVE:
                    if actions and not 0 <= action < actions:
                        raise Fault(f"action {action} is not one of {actions}", kind="protocol")
                    slots[i].step(action, turn)
                else:
                    raise Fault(UNREADY[states[i]])
                states[i] = rows.add(i, op, turn)
            except Exception as e:
                states[i] = FAULTY
                rows.fail(i, why(e, self._mourned))
        return rows.reply(batch.seq)

    def encode(self, messages: list[str], answer: str) -> tuple[list[Any], int]:
        return encoded(self._slots[0], messages, answer)

    def render(self, slot: int) -> str:
        return self._slots[slot].render()

    def snapshot(self, slot: int) -> bytes:
        return bytes(self._states[slot : slot + 1]) + self._slots[slot].snapshot()

    def restore(self, slot: int, state: bytes) -> None:
        self._states[slot] = FAULTY
        self._slots[slot].restore(state[1:])
        self._states[slot] = state[0]

    def close(self) -> None:
        for slot in self._slots:
            slot.close()


def encoded(environment: Any, messages: list[str], answer: str) -> tuple[list[Any], int]:
    """The observation of a recorded call, as the parts of a BatchReply of one slot,
    and its action; −1 lets the host look for it."""
    turn, names = Turn(wants_text=False), list(environment.actions)
    action = environment.encode(messages, answer, turn)
    if isinstance(action, str):
        if action not in names:
            raise ValueError(f"encode returned {action!r}, which is not one of {names}")
        action = names.index(action)
    action = -1 if action is None else int(action)
    if not -1 <= action < len(names):
        raise ValueError(f"encode returned action {action} of {len(names)}")
    if not turn.anchor:
        raise ValueError("encode set no anchor; call turn.refuse for a call of another environment")
    rows = _Rows(False, True, features(environment), b"\1" * len(names))
    if rows.add(0, columns.RESET, turn) != LIVE:
        raise ValueError("encode set the end of an episode")
    return rows.reply(0), action


class _Rows:
    """What the slots said, as columns."""

    def __init__(self, want_text: bool, want_features: bool, width: int, all: bytes):
        self._want_text, self._all = want_text, all
        self._size = 4 * width if want_features else 0
        self._anchors: list[bytes] = []
        self._texts: list[bytes] = []
        self._features: list[bytes] = []
        self._masks: list[bytes] = []
        self._rewards, self._flags = array("d"), bytearray()
        self._events: list[bytes] = []

    def add(self, slot: int, op: int, turn: Turn) -> int:
        """Checks what the host would end the whole process for, while it costs only
        the slot, and returns the slot's state."""
        reward = turn.reward
        if not isfinite(reward):
            raise ValueError(f"reward is {reward}")
        if op == columns.RESET and reward:
            raise ValueError(f"reward {reward} right after a reset")
        flags = (1 if turn.terminated else 0) | (2 if turn.truncated else 0)
        state = OVER if flags else LIVE
        if turn.invalid_action:
            flags |= columns.INVALID
        mask = self._all if turn.mask is None else self._mask(turn.mask, state)
        features = self._tensor(turn.features) if self._size else b""
        anchor = columns.encoded(turn.anchor)
        text = anchor if turn.text is None or not turn.wants_text else columns.encoded(turn.text)
        if turn._events is not None:
            if op != columns.RESET and any(kind == "task" for kind, _, _ in turn._events):
                raise ValueError("a task in the middle of an episode: it belongs into reset")
            self._events += [columns.event(slot, *e) for e in turn._events]
        self._append(anchor, text, features, mask, reward, flags)
        return state

    def skip(self) -> None:
        self._append(b"", b"", bytes(self._size), self._all, 0.0, 0)

    def fail(self, slot: int, message: str) -> None:
        self._append(b"", b"", bytes(self._size), bytes(len(self._all)), 0.0, columns.FAILED)
        self._events.append(columns.event(slot, "error", "", message))

    def reply(self, seq: int) -> list[Any]:
        return columns.reply(
            seq, columns.arena(self._anchors), columns.arena(self._texts) if self._want_text else None, b"".join(self._features),
            b"".join(self._masks), columns.little(self._rewards), self._flags, self._events,
        )

    def _append(self, anchor: bytes, text: bytes, features: bytes, mask: bytes, reward: float, flags: int) -> None:
        self._rewards.append(reward)
        self._flags.append(flags)
        self._anchors.append(anchor)
        self._texts.append(text)
        self._features.append(features)
        self._masks.append(mask)

    def _mask(self, mask: Any, state: int) -> bytes:
        if type(mask) is not bytes:
            mask = bytes(map(bool, mask))
        if len(mask) != len(self._all):
            raise ValueError(f"the mask has {len(mask)} values for {len(self._all)} actions")
        if mask.translate(None, b"\0\1"):
            raise ValueError("the mask has bytes that are neither 0 nor 1")
        if state == LIVE and 1 not in mask:
            raise ValueError("the episode goes on but no action is available")
        return mask

    def _tensor(self, given: Any) -> bytes:
        if given is None:
            raise ValueError("there are no features, though feature_shape says so")
        row = given if type(given) is Features else packed(given)
        if len(row) != self._size:
            raise ValueError(f"there are {len(row) // 4} features, not {self._size // 4} as feature_shape says")
        return row


def features(described: Any) -> int:
    """The values of an observation tensor."""
    count = 1 if described.feature_shape else 0
    for size in described.feature_shape:
        count *= size
    return count


def why(error: Exception, mourned: set[tuple]) -> str:
    """The last line of a traceback and where that was. The last calls of it go to the
    log, once for each place."""
    text = str(error) if isinstance(error, Fault) else "".join(traceback.format_exception_only(error)).strip()
    file, line, tb = "", 0, error.__traceback__
    while tb is not None:
        if not (name := tb.tb_frame.f_code.co_filename).startswith(_HERE):
            file, line = name, tb.tb_lineno
        tb = tb.tb_next
    if not file:
        return text
    place = (type(error), file, line)
    if place not in mourned and len(mourned) < 100:
        mourned.add(place)
        traceback.print_exception(error, limit=-LAST_CALLS)
    return f"{text} ({file.rpartition('/')[2]}:{line})"


LAST_CALLS = 20  # of a traceback; to print those of a deep recursion takes more fuel than the recursion

_HERE = __file__.rpartition("/")[0] + "/"
