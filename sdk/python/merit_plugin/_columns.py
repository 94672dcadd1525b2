"""The messages of the hot path: protobuf's encoding of Batch and BatchReply, whose
columns are read in place and written without a copy. Numbers are little-endian."""

from __future__ import annotations

import sys
from array import array
from itertools import accumulate
from typing import Any, Iterable

from .fault import Fault

SKIP, STEP, RESET = 0, 1, 2
TERMINATED, TRUNCATED, FAILED, INVALID = 1, 2, 4, 8
WANT_TEXT, WANT_FEATURES = 1, 2
MAX_TEXT, MAX_NAME, MAX_EVENTS = 1 << 20, 256, 16
NOTHING = memoryview(b"")


class Batch:
    """One operation for every slot. All but texts are views of the message."""

    __slots__ = ("seq", "ops", "actions", "texts", "seeds", "want_text", "want_features")

    def __init__(self, raw: bytes | memoryview, slots: int, actions: int):
        found = _fields(raw)
        self.seq, self.ops = found.get(1, 0), found.get(2, NOTHING)
        _length("op", self.ops, slots)
        ops = bytes(self.ops)
        stepping, resetting = ops.count(STEP), ops.count(RESET)
        if stepping + resetting + ops.count(SKIP) != slots:
            raise _broken("op: an operation is not known")
        self.actions = found.get(3, NOTHING)
        _length("action", self.actions, 4 * slots if actions else 0)
        self.seeds = found.get(6, NOTHING)
        _length("seed", self.seeds, 8 * resetting)
        self.texts = _texts(found.get(4, NOTHING), found.get(5, NOTHING), 0 if actions else stepping)
        want = found.get(7, 0)
        self.want_text, self.want_features = bool(want & WANT_TEXT), bool(want & WANT_FEATURES)


def reply(seq: int, anchors: tuple, texts: tuple | None, features: Any, mask: Any, reward: Any, flags: Any, events: Iterable[bytes]) -> list[Any]:
    """The parts of a BatchReply, one behind the other. Anchors and texts are arenas
    with the ends of their rows."""
    parts: list[Any] = [b"\x08" + _varint(seq)]
    columns = [(2, anchors[0]), (3, anchors[1])]
    if texts is not None:
        columns += [(4, texts[0]), (5, texts[1])]
    columns += [(6, features), (8, mask), (9, reward), (10, flags)]
    for number, column in columns:
        if size := len(column):
            parts += (bytes((number << 3 | 2,)) + _varint(size), column)
    for event in events:
        parts += (b"\x5a" + _varint(len(event)), event)
    return parts


def event(slot: int, kind: str, name: str, message: str) -> bytes:
    """An Event whose texts the host takes."""
    said = b"\x08" + _varint(slot) if slot else b""
    for number, text in ((2, kind), (3, _cut(name, MAX_NAME)), (4, _cut(message, MAX_TEXT))):
        if row := text.encode():
            said += bytes((number << 3 | 2,)) + _varint(len(row)) + row
    return said


def arena(rows: list[bytes]) -> tuple[bytes, bytes]:
    """Texts one behind the other, and where each one ends."""
    return b"".join(rows), little(array("I", accumulate(map(len, rows))))


def encoded(text: Any) -> bytes:
    """An anchor or a text as UTF-8 that the host takes."""
    if type(text) is str:
        text = text.encode()
    elif not isinstance(text, bytes):
        raise TypeError(f"anchor and text are str or UTF-8 in bytes, not {type(text).__name__}")
    elif not text.isascii():
        text.decode()
    if len(text) > MAX_TEXT:
        raise ValueError(f"an anchor or text has {len(text)} bytes, at most {MAX_TEXT}")
    return text


def little(values: array) -> bytes:
    """A column of an array's numbers."""
    if sys.byteorder == "big":
        values.byteswap()
    return values.tobytes()


def _fields(raw: bytes | memoryview) -> dict[int, Any]:
    """The fields of a message without parts that repeat: numbers, and views of
    raw."""
    view, end, at, found = memoryview(raw), len(raw), 0, {}
    try:
        while at < end:
            tag = raw[at]
            value, at = _read(raw, at + 1)
            if tag & 0x87 == 2:
                if at + value > end:
                    raise IndexError
                found[tag >> 3] = view[at : at + value]
                at += value
            elif tag & 0x87 == 0:
                found[tag >> 3] = value
            else:
                raise IndexError
    except IndexError:
        raise _broken("is not a message of this protocol") from None
    return found


def _read(raw: bytes | memoryview, at: int) -> tuple[int, int]:
    """A varint, and what comes after it."""
    value = raw[at]
    at += 1
    if value < 128:
        return value, at
    value, shift = value & 127, 7
    while True:
        more = raw[at]
        at += 1
        value |= (more & 127) << shift
        if more < 128:
            return value, at
        shift += 7
        if shift > 63:
            raise IndexError


def _varint(value: int) -> bytes:
    said = bytearray()
    while value > 127:
        said.append(value & 127 | 128)
        value >>= 7
    said.append(value)
    return bytes(said)


def _texts(whole: memoryview, ends: memoryview, rows: int) -> list[str]:
    _length("text_end", ends, 4 * rows)
    texts, start = [], 0
    for end in ints("I", ends):
        if not start <= end <= len(whole):
            raise _broken(f"text: a row ends at byte {end}, outside {start} to {len(whole)}")
        texts.append(str(whole[start:end], "utf-8"))
        start = end
    _length("text", whole, start)
    return texts


def ints(kind: str, column: memoryview) -> Any:
    """The numbers of a column, to be indexed and iterated over."""
    if sys.byteorder == "little":
        return column.cast(kind)
    values = array(kind, column.tobytes())
    values.byteswap()
    return values


def _length(name: str, column: memoryview, size: int) -> None:
    if len(column) != size:
        raise _broken(f"{name}: column has {len(column)} bytes, not {size}")


def _broken(what: str) -> Fault:
    return Fault(f"a batch: {what}", kind="protocol", hint="use the same version of Merit and of merit_plugin")


def _cut(text: str, limit: int) -> str:
    return text.encode("utf-8", "replace")[:limit].decode("utf-8", "ignore")
