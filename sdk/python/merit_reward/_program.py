"""The side of ``merit_reward.code`` that runs in the program: it holds the solution.

``answer`` takes a request and gives the answer, both JSON text; see ``_values``
for the values in them:

    {"do": "load", "source": TEXT}      → {"ok": true, "names": [public callables], "values": [other public names]}
    {"do": "call", "name": N, "args": [V…], "kwargs": {NAME: V}}
                                        → {"value": V, "args": [[index or name, V]…] of those that it changed in place}
    {"do": "get", "name": N}            → {"value": V} | {"callable": true} | {"module": true}
    {"do": "next", "of": HANDLE, "count": N}  → {"value": an iterator}
    {"do": "compile", "source": TEXT}   → {"ok": true}: it is a whole program
    {"do": "run", "input": TEXT}        → {"output": TEXT} of the program, "cut": true if that is only its beginning; "source": TEXT may come with it

With "preamble": true a source finds what contest platforms import before it.

``name`` may be an expression of the solution's names, ``Solution().add``. "of":
HANDLE in call and get means an attribute of what was kept, "keep": true in a call
keeps the result. Values that only this side has:

    {"iterator": [V…], "more": HANDLE, "error": E}  what it gave first, what asks for more, how it ended
    {"callable": HANDLE}                a function
    {"object": type name, "repr": TEXT, "handle": HANDLE if kept}   anything else

Every answer may have "output", what was printed, and "error" in place of a value:
{"type", "bases": [built-in exceptions that it is], "args": [V…], "message", "traceback"}.
Nothing here is trusted by whoever asks: the solution runs in this interpreter
and can change all of it.
"""

from __future__ import annotations

import builtins
import io
import linecache
import os
import sys
import traceback
from itertools import islice

from . import _values, refusals
from ._values import dumps, read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

if sys.platform == "wasi":  # what solutions import: in the sandbox it is there before the snapshot
    import bisect, cmath, collections, copy, dataclasses, datetime, decimal, enum, fractions, functools  # noqa: E401, F401
    import hashlib, heapq, itertools, math, operator, random, re, statistics, string, typing  # noqa: E401, F401
    import queue, threading, concurrent.futures.thread, multiprocessing  # noqa: E401, F401

FILE = "solution.py"
MAX_OUTPUT = 1_000_000  # characters of a whole program's output, as JSON
MAX_PRINTED = 1 << 14  # of what a call prints
MAX_TEXT = 4000  # of a message, a traceback, a repr
READ_AHEAD = 16  # of an iterator
FRAMES = 20

_module: "Any" = None
_whole: "Any" = None  # a compiled program, and the names in which it runs
_kept: "list[Any]" = []  # by handle
_named: "dict[str, Any]" = {}  # by expression


class _Console:
    """Standard input, output and error of the solution, as texts. What is printed to output and error is one text, unless they are ``apart``."""

    def __init__(self, apart: bool = False) -> None:
        self.given, self.out, self.err = io.BytesIO(), io.BytesIO(), io.BytesIO()
        sys.stdin = self.input = io.TextIOWrapper(self.given, "utf-8", "replace")
        sys.stdout = _stream(self.out)
        sys.stderr = _stream(self.err) if apart else sys.stdout
        self._written = self.out.tell

    def give(self, text: str) -> None:
        """Makes a text the input."""
        self.given.write(text.encode("utf-8", "replace"))
        self.given.seek(0)

    def used(self) -> bool:
        """Whether the solution has written or closed the output."""
        try:
            return self._written() > 0
        except ValueError:
            return True


def _stream(data: io.BytesIO) -> io.TextIOWrapper:
    return io.TextIOWrapper(data, "utf-8", "replace", newline="\n", write_through=True)


def _taken(data: io.BytesIO, limit: int) -> str:
    """What was written, up to limit; nothing if the solution has closed it."""
    return "" if data.closed else data.getvalue()[: 4 * limit].decode("utf-8", "replace")[:limit]


_console: "Any" = None


def answer(request: str) -> str:
    """The answer to one request. It never raises."""
    global _console
    try:
        if _console is None:
            _console = _Console()
        r = read(request)
        reply = DO[r["do"]](r)
    except BaseException as e:  # SystemExit and KeyboardInterrupt are answers too
        reply = {"error": _error(e)}
    try:
        if _console.used():
            reply.setdefault("output", _taken(_console.out, MAX_PRINTED))
            _console = None
        return dumps(reply)
    except BaseException as e:
        return dumps({"error": {"type": type(e).__name__, "message": _text(e)}})


def _load(r: "dict[str, Any]") -> "dict[str, Any]":
    global _module
    _module = _new_module("solution", r["source"], "preamble" in r)
    exec(compile(r["source"], FILE, "exec", dont_inherit=True), _module.__dict__)
    names: "list[str]" = []
    values: "list[str]" = []
    for name, value in _module.__dict__.items():
        if name[:1] != "_":
            (names if callable(value) else values).append(name)
    return {"ok": True, "names": names, "values": values}


def _new_module(name: str, source: str, preamble: bool) -> "Any":
    module = sys.modules[name] = type(sys)(name)
    module.__builtins__ = _platform if preamble else builtins  # type: ignore[attr-defined]
    linecache.cache[FILE] = (len(source), None, source.splitlines(True), FILE)
    if preamble:
        sys.setrecursionlimit(max(sys.getrecursionlimit(), 50_000))
        PREAMBLE.update(stdin=sys.stdin, stdout=sys.stdout, stderr=sys.stderr)
    return module


# What LiveCodeBench and those who follow it import before a solution. It takes the place of the built-in names, so
# that it costs nothing and is none of the solution's own.
STARRED = "string re datetime collections heapq bisect copy math random statistics itertools functools operator io sys json builtins typing"
_platform = type(sys)("builtins")
PREAMBLE = _platform.__dict__


def _import_preamble() -> None:
    for name in STARRED.split():
        exec(f"from {name} import *", PREAMBLE)
    for name in STARRED.split():
        if name not in ("builtins", "typing"):
            exec(f"import {name}", PREAMBLE)
    PREAMBLE.update(builtins.__dict__)


_import_preamble()


def _named_as(r: "dict[str, Any]") -> "Any":
    name = r["name"]
    if "of" in r:
        return getattr(_kept[r["of"]], name)
    if name in _module.__dict__:
        return _module.__dict__[name]
    if name not in _named:
        made, called, method = name.partition("().")  # Solution().f, which is read without its compiler
        if called and made in _module.__dict__ and method.isidentifier():
            _named[name] = getattr(_module.__dict__[made](), method)
        else:
            _named[name] = eval(compile(name, "<call>", "eval"), {**_module.__dict__})
    return _named[name]


def _call(r: "dict[str, Any]") -> "dict[str, Any]":
    function = _kept[r["of"]] if r["name"] is None else _named_as(r)
    args = _values.decode(r["args"], _given)
    kwargs = {k: _values.decode(v, _given) for k, v in r["kwargs"].items()} if "kwargs" in r else {}
    watched: "list[tuple[int | str, Any, str]]" = []
    if kwargs or not CHANGING.isdisjoint(map(type, args)):
        watched = [(i, v, dumps(_values.encode(v, _other))) for i, v in [*enumerate(args), *kwargs.items()] if type(v) in CHANGING]
    try:
        result = function(*args, **kwargs)
        if refusals.PENDING:
            refusals.settle()
        reply = {"value": _keep(result) if "keep" in r else _values.encode(result, _other)}
    except BaseException as e:
        reply = {"error": _error(e)}
    if watched:
        changed = [[key, after] for key, value, before in watched if dumps(after := _values.encode(value, _other)) != before]
        if changed:
            reply["args"] = changed
    return reply


CHANGING = frozenset((list, dict, set, bytearray, _values.deque, _values.Counter, _values.OrderedDict))


def _get(r: "dict[str, Any]") -> "dict[str, Any]":
    value = _named_as(r)
    if type(value) is type(sys):
        return {"module": True}
    return {"callable": True} if callable(value) else {"value": _values.encode(value, _other)}


def _next(r: "dict[str, Any]") -> "dict[str, Any]":
    return {"value": _iterator(_kept[r["of"]], r["count"], r["of"])}


def _iterator(values: "Any", count: int, handle: "int | None" = None) -> "dict[str, Any]":
    items: "list[Any]" = []
    reply: "dict[str, Any]" = {"iterator": items}
    try:
        for v in islice(values, count):
            items.append(_values.encode(v, _other))
    except BaseException as e:
        reply["error"] = _error(e)
    if len(items) == count:
        reply["more"] = _handle(values) if handle is None else handle
    return reply


def _handle(value: "Any") -> int:
    _kept.append(value)
    return len(_kept) - 1


def _keep(value: "Any") -> "dict[str, Any]":
    return {**_object(value), "handle": _handle(value)}


def _object(value: "Any") -> "dict[str, Any]":
    kind = type(value)
    return {"object": f"{kind.__module__}.{kind.__qualname__}", "repr": _text(value, repr)}


def _other(value: "Any") -> "Any":
    """A value that is no data."""
    if hasattr(type(value), "__next__"):
        return _iterator(value, READ_AHEAD)
    if callable(value) and not isinstance(value, type):
        return {"callable": _handle(value)}
    return _object(value)


def _given(value: "dict[str, Any]") -> "Any":
    if "iterator" in value:
        return iter([_values.decode(v, _given) for v in value["iterator"]])
    return _kept[value["handle" if "handle" in value else "callable"]]


def _compile(r: "dict[str, Any]") -> "dict[str, Any]":
    """Readies a source to be run as a whole program, up to its input."""
    global _console, _whole
    code = compile(r["source"], FILE, "exec", dont_inherit=True)
    _console = _Console(apart=True)
    _open_as(_console)
    _whole = (code, _new_module("__main__", r["source"], "preamble" in r).__dict__)
    return {"ok": True}


def _run(r: "dict[str, Any]") -> "dict[str, Any]":
    if "source" in r:
        _compile(r)
    (code, names), console = _whole, _console
    console.give(r["input"])
    error = None
    try:
        exec(code, names)
        if refusals.PENDING:
            refusals.settle()  # threads that nobody waits for
    except SystemExit as e:
        error = _error(e) if e.code else None
    except BaseException as e:
        error = _error(e)
    for stream in sys.stdout, sys.stderr:  # which may be the solution's own by now
        try:
            stream.flush()
        except (AttributeError, ValueError):  # it has none, or has closed it
            pass
    output, reply = _taken(console.out, MAX_OUTPUT), {"printed": _taken(console.err, MAX_PRINTED), "error": error}
    if len(output) > MAX_OUTPUT // 8 and len(dumps(output)) > MAX_OUTPUT:  # more than an answer may have
        output, reply["cut"] = output[:MAX_PRINTED], True
    reply["output"] = output
    return reply


def _open_as(console: _Console) -> None:
    """Makes what reads and writes files by number read and write what input and print do."""
    opened, read, write = builtins.open, os.read, os.write
    streams = {1: console.out, 2: console.err}

    def open_(file: "Any", *args: "Any", **kwargs: "Any") -> "Any":
        return console.input if file in (0, "/dev/stdin") else opened(file, *args, **kwargs)

    builtins.open = PREAMBLE["open"] = open_  # type: ignore[assignment]
    os.read = lambda fd, n: console.input.buffer.read(n) if fd == 0 else read(fd, n)
    os.write = lambda fd, data: streams[fd].write(data) if fd in streams else write(fd, data)


DO = {"load": _load, "call": _call, "get": _get, "next": _next, "compile": _compile, "run": _run}


def _error(e: BaseException) -> "dict[str, Any]":
    bases = [c.__name__ for c in type(e).__mro__ if c.__module__ == "builtins"]
    return {"type": type(e).__name__, "bases": bases, "args": _arguments(e), "message": _text(e), "traceback": _traceback(e)}


def _arguments(e: BaseException) -> "list[Any] | None":
    """What the exception was made with, if it is plain."""
    kinds = {*map(type, e.args)}
    return [_values.encode(v, _other) for v in e.args] if kinds <= {str, int, bool, type(None)} and len(str(e.args)) < MAX_TEXT else None


def _text(value: "Any", say: "Any" = str) -> str:
    try:
        return say(value)[:MAX_TEXT] + ""
    except BaseException as e:
        return f"{type(value).__name__}, of which {say.__name__}() raises {type(e).__name__}"


def _traceback(e: BaseException) -> str:
    """The frames of the solution."""
    try:
        frames = [f for f in traceback.extract_tb(e.__traceback__, -FRAMES) if f.filename != __file__]
        lines = traceback.format_list(frames) + traceback.format_exception_only(type(e), e)
        return "".join(lines)[-MAX_TEXT:]
    except BaseException:
        return ""


def serve(requests: "Any", answers: "Any") -> None:
    """Answers requests, a line each: without a sandbox."""
    for line in requests:
        answers.write(answer(line.rstrip("\n")) + "\n")
        answers.flush()


if sys.platform == "wasi":  # what the first request would make, made before the snapshot
    answer('{"do":"load","source":"def f(x): return x[0]"}')
    answer('{"do":"call","name":"f","args":[[]]}')
    _kept.clear()
