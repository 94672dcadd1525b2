"""Values as JSON text, on their way between a reward and the program that it asks.

What JSON has goes as it is: null, true, false, strings, lists, integers within
2**53 and floats that are finite. All else is an object with a tag:

    {"int": "…"}  decimal, or hexadecimal from 0x where it is long
    {"float": "nan"}, {"float": "inf"}, {"float": "-inf"}
    {"dict": [[key, value], …]}, with "of" for a Counter or an OrderedDict
    {"tuple": […]}, {"set": […]}, {"frozenset": […]}, {"deque": […]}
    {"bytes": base64}, {"bytearray": base64}
    {"complex": [real, imaginary]}, {"range": [start, stop, step]}
    {"view": ["keys" | "values" | "items", a dict]}

Both sides use this module, each in an interpreter of its own. What only one of
them can make or read (objects, iterators, functions) it does in ``other``.
"""

from __future__ import annotations

import sys
from binascii import a2b_base64, b2a_base64
from collections import Counter, OrderedDict, deque
from json import JSONDecoder
from json.encoder import c_make_encoder, encode_basestring_ascii
from math import isfinite

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

    Other = Callable[[Any], Any]

SAFE = 1 << 53
LONGEST = 1_000_000  # integers of a range
FEW = 50  # keys of a dict that are not slow however they are made
DIGITS = 640  # of a decimal: to read it takes as long as their number squared
LONG = 2000  # bits of an integer that goes as a decimal
PLAIN = frozenset((str, bool, type(None)))
SUBCLASSES = (dict, list, tuple, str, int, float, set, frozenset, bytes)  # whose instances go as if they were of these
VIEWS = {type({}.keys()): "keys", type({}.values()): "values", type({}.items()): "items"}


def _no_json(value: "Any") -> None:
    raise ValueError(f"{value!r} is no JSON")


# json.dumps and json.loads make one of these at every call, which costs more than most calls.
_write = c_make_encoder(None, _no_json, encode_basestring_ascii, None, ":", ",", False, False, False)  # type: ignore[misc]
_scan = JSONDecoder(parse_constant=_no_json).scan_once  # type: ignore[attr-defined]
# The first releases of Python 3.9 and 3.10 do not have these.
_longest = getattr(sys, "get_int_max_str_digits", lambda: 0)
_bound = getattr(sys, "set_int_max_str_digits", lambda digits: None)


def dumps(value: "Any") -> str:
    """The JSON text of what encode gives, in ASCII."""
    return "".join(_write(value, 0))


def loads(text: str) -> "Any":
    """What decode reads, of a JSON text without space around it. ValueError, RecursionError."""
    most = _longest()
    _bound(DIGITS)
    try:
        value, end = _scan(text, 0)
    except StopIteration:
        end = -1
    finally:
        _bound(most)
    if end != len(text):
        raise ValueError("not a JSON text")
    return value


def read(text: str) -> "Any":
    """What dumps wrote, of a text that can be trusted."""
    return _scan(text, 0)[0]


def encode(value: "Any", other: "Other") -> "Any":
    """The value as what json.dumps takes; ``other`` is asked for what has no form here."""
    kind = type(value)
    if kind in PLAIN:
        return value
    make = MAKE.get(kind)
    if make:
        return make(value, other)
    for base in SUBCLASSES:
        if issubclass(kind, base):
            return str.__str__(value) if base is str else encode(base(value), other)
    return other(value)


def _int(value: int, _other: "Other") -> "Any":
    if -SAFE <= value <= SAFE:
        return value
    return {"int": str(value) if value.bit_length() < LONG else hex(value)}


def _float(value: float, _other: "Other") -> "Any":
    return value if isfinite(value) else {"float": repr(value)}


def _items(values: "Any", other: "Other") -> "list[Any]":
    """The items, looked at one by one only if they may not all be plain."""
    kinds = {*map(type, values)}
    if kinds <= PLAIN or kinds == {float} and all(map(isfinite, values)) or kinds == {int} and -SAFE <= min(values) and max(values) <= SAFE:
        return [*values]
    return [encode(v, other) for v in values]


def _pairs(value: "dict[Any, Any]", other: "Other") -> "dict[str, Any]":
    return {"dict": [[encode(k, other), encode(v, other)] for k, v in dict.items(value)]}


MAKE: "dict[type, Callable[[Any, Other], Any]]" = {
    int: _int,
    float: _float,
    list: _items,
    dict: _pairs,
    tuple: lambda v, other: {"tuple": _items(v, other)},
    set: lambda v, other: {"set": _items(v, other)},
    frozenset: lambda v, other: {"frozenset": _items(v, other)},
    deque: lambda v, other: {"deque": _items(v, other)},
    Counter: lambda v, other: {**_pairs(v, other), "of": "Counter"},
    OrderedDict: lambda v, other: {**_pairs(v, other), "of": "OrderedDict"},
    bytes: lambda v, _other: {"bytes": b2a_base64(v, newline=False).decode()},
    bytearray: lambda v, _other: {"bytearray": b2a_base64(v, newline=False).decode()},
    complex: lambda v, other: {"complex": [_float(v.real, other), _float(v.imag, other)]},
    range: lambda v, other: {"range": _items((v.start, v.stop, v.step), other)},
    **{kind: lambda v, other, name=name: {"view": [name, _pairs(dict(v.mapping), other)]} for kind, name in VIEWS.items()},
}


def decode(value: "Any", other: "Other") -> "Any":
    """What json.loads has read, as the value that it stands for.

    ``other`` is given the objects whose tag is none of the above. Anything that
    is malformed is an exception: a ValueError, a TypeError, a KeyError.
    """
    kind = type(value)
    if kind is list:
        kinds = {*map(type, value)}
        return value if list not in kinds and dict not in kinds else [decode(v, other) for v in value]
    if kind is not dict:
        return value
    for tag, read in READ.items():
        if tag in value:
            return read(value, value[tag], other)
    return other(value)


def _read_int(_whole: "Any", text: str, _other: "Other") -> int:
    if text.lstrip("-")[:2] == "0x":
        return int(text, 16)
    if len(text) > DIGITS:
        raise ValueError(f"an integer of {len(text)} digits goes in hexadecimal")
    return int(text)


def _read_dict(whole: "Any", pairs: "Any", other: "Other") -> "dict[Any, Any]":
    made = _hashable([decode(k, other) for k, _ in pairs])
    kind = {"Counter": Counter, "OrderedDict": OrderedDict}.get(whole.get("of", ""), dict)
    return kind(dict(zip(made, [decode(v, other) for _, v in pairs])))  # type: ignore[return-value]


def _hashable(keys: "list[Any]") -> "list[Any]":
    """The keys, which must not all have one hash: to look them up would take as long as their number squared."""
    if len(keys) > FEW and 2 * len({*map(hash, keys)}) < len(keys):
        raise ValueError("the keys of a dict or a set are made to be slow")
    return keys


def _bounded(values: range) -> range:
    """The range, which must not be one that nobody gets to the end of."""
    if len(values) > LONGEST:
        raise ValueError(f"a range of more than {LONGEST} integers")
    return values


def _read_view(_whole: "Any", parts: "Any", other: "Other") -> "Any":
    name, mapping = parts
    if name not in VIEWS.values():
        raise ValueError(f"a dict has no view {name!r}")
    return getattr(decode(mapping, other), name)()


def _sequence(make: "Callable[[list[Any]], Any]") -> "Callable[[Any, Any, Other], Any]":
    return lambda _whole, items, other: make([decode(v, other) for v in items])


READ: "dict[str, Callable[[Any, Any, Other], Any]]" = {
    "dict": _read_dict,
    "tuple": _sequence(tuple),
    "set": _sequence(lambda items: set(_hashable(items))),
    "frozenset": _sequence(lambda items: frozenset(_hashable(items))),
    "deque": _sequence(deque),
    "int": _read_int,
    "float": lambda _whole, text, _other: {"nan": float("nan"), "inf": float("inf"), "-inf": float("-inf")}[text],
    "bytes": lambda _whole, text, _other: a2b_base64(text),
    "bytearray": lambda _whole, text, _other: bytearray(a2b_base64(text)),
    "complex": _sequence(lambda parts: complex(*parts)),
    "range": _sequence(lambda ends: _bounded(range(*ends))),
    "view": _read_view,
}
