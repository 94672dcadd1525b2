"""The forms that a test can have, each with a ``run`` that raises what is wrong."""

from __future__ import annotations

import builtins
import sys

from . import _same as same
from ._candidate import Candidate
from ._values import dumps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType
    from typing import Any, Sequence

    from ._candidate import Session
    from .code import Tests

MAX_SHOWN = 400  # characters of a value in a message
LONGEST = 900_000  # characters of an expected output, as JSON: a program gives somewhat more


def of(tests: "Tests", entry_point: "str | None", setup: str, classes: "Sequence[str]", tolerance: float = 0.0) -> "list[Any]":
    """A case for each test. ValueError or SyntaxError for what is none."""
    listed = [tests] if isinstance(tests, (str, dict)) else list(tests)
    if not listed:
        raise ValueError("there are no tests")
    same.check(tolerance)
    return [_case(f"test {i + 1}", t, entry_point, setup, frozenset(classes), tolerance) for i, t in enumerate(listed)]


def _case(name: str, test: "Any", entry_point: "str | None", setup: str, classes: "frozenset[str]", tolerance: float) -> "Any":
    if isinstance(test, str):
        return Text(name, test, entry_point, setup, classes)
    if isinstance(test, dict):
        tolerance = same.check(test.get("tolerance", tolerance))
    if isinstance(test, dict) and isinstance(test.get("input"), str) and isinstance(test.get("output"), str):
        return Exchange(name, test, tolerance)
    if isinstance(test, dict) and isinstance(test.get("call"), list) and "returns" in test:
        if not entry_point:
            raise ValueError(f"{name} calls a function: entry_point must name it")
        return Call(name, test, entry_point, tolerance)
    raise ValueError(f'{name} is {str(test)[:200]!r}; it must be a text, {{"input", "output"}} of texts, or {{"call": [...], "returns": ...}}')


class Text:
    """Statements, or the function check."""

    how = "load"

    def __init__(self, name: str, text: str, entry_point: "str | None", setup: str, classes: "frozenset[str]") -> None:
        self.name, self.entry_point, self.classes = name, entry_point, classes
        self.text = f"{setup}\n{text}" if setup else text
        self.code = compile(self.text, name, "exec", dont_inherit=True)
        self.checks = any(getattr(c, "co_name", "") == "check" for c in self.code.co_consts)
        if self.checks and not entry_point:
            raise ValueError(f"{name} defines check(candidate): entry_point must name the candidate")

    def run(self, session: "Session", loaded: "dict[str, Any]") -> None:
        """Runs the statements where names of the solution are proxies, but never those of Python's own functions."""
        functions, values = _names_of(session, loaded, "names"), _names_of(session, loaded, "values")
        space: "dict[str, Any]" = {"__name__": "tests", "__merit_test__": self.text}
        wanted = {name for name in _names(self.code) if not hasattr(builtins, name)}
        for name in wanted & functions:
            space[name] = Candidate(session, name, keep=name in self.classes)
        for name in sorted(wanted & values):
            _fetch(session, name, space)
        if self.entry_point:
            space["candidate"] = candidate = _entry(session, self.entry_point, functions, self.classes)
            if self.entry_point.isidentifier():
                space[self.entry_point] = candidate
        exec(self.code, space)
        if self.checks:
            space["check"](space["candidate"])


def _names_of(session: "Session", loaded: "dict[str, Any]", kind: str) -> "set[str]":
    """The names of the solution's functions, or those of its values."""
    return {n for n in session.items(loaded, kind) if n.__class__ is str}


def _names(code: "CodeType") -> "set[str]":
    """The names in a code object and in those within it: of globals, and of attributes too."""
    return {*code.co_names}.union(*(_names(c) for c in code.co_consts if type(c) is type(code)))


def _fetch(session: "Session", name: str, space: "dict[str, Any]") -> None:
    """A name that is no function: a value, or a module of the standard library, of which this side has its own."""
    answer = session.ask({"do": "get", "name": name})
    if answer.get("module") is not True:
        space[name] = session.value(answer)
    elif name in getattr(sys, "stdlib_module_names", ("math", "re")):
        space[name] = __import__(name)


def _entry(session: "Session", entry_point: str, functions: "set[str]", classes: "frozenset[str]") -> Candidate:
    if entry_point.isidentifier() and entry_point not in functions:
        if "Solution" not in functions:
            raise NameError(f"name {entry_point!r} is not defined")
        entry_point = f"Solution().{entry_point}"
    return Candidate(session, entry_point, keep=entry_point in classes)


class Call:
    """Arguments and what the function returns for them."""

    how = "load"

    def __init__(self, name: str, test: "dict[str, Any]", entry_point: str, tolerance: float) -> None:
        self.name, self.args, self.entry_point, self.tolerance = name, test["call"], entry_point, tolerance
        self.expected = [_as_json(test[k]) for k in ("returns", "or") if k in test]

    def run(self, session: "Session", loaded: "dict[str, Any]") -> None:
        """Calls and compares, with tuples as lists."""
        functions = _names_of(session, loaded, "names") if self.entry_point.isidentifier() else set()
        got = _as_json(_entry(session, self.entry_point, functions, frozenset())(*_copy(self.args)))
        if got not in self.expected and not any(same.values(got, e, self.tolerance) for e in self.expected):
            shown = ", ".join(map(repr, self.args))[:MAX_SHOWN]
            raise AssertionError(f"{self.entry_point}({shown}) returned {_shown(got)}, not {_shown(self.expected[0])}")


def _as_json(value: "Any") -> "Any":
    if isinstance(value, (list, tuple)):
        return [_as_json(v) for v in value]
    return {k: _as_json(v) for k, v in value.items()} if isinstance(value, dict) else value


def _copy(args: "list[Any]") -> "list[Any]":
    """The arguments for one call, which may change them."""
    return [a.copy() if isinstance(a, (list, dict, set)) else a for a in args]


def _shown(value: "Any") -> str:
    return "an iterator" if hasattr(type(value), "__next__") else repr(value)[:MAX_SHOWN]


class Exchange:
    """Standard input, and the output that belongs to it."""

    how = "compile"

    def __init__(self, name: str, test: "dict[str, str]", tolerance: float) -> None:
        self.name, self.input, self.expected, self.tolerance = name, test["input"], test["output"], tolerance
        if len(self.expected) > LONGEST // 8 and (size := len(dumps(self.expected))) > LONGEST:
            raise ValueError(f"{name} expects an output of {size} characters as JSON, and a program can give {LONGEST}; leave the test out")

    def run(self, session: "Session", _loaded: "dict[str, Any]") -> None:
        """Runs the source as a whole program and compares the lines that it writes."""
        answer = session.ask({"do": "run", "input": self.input})
        said = session.output = session.text(answer.get("output", ""))
        if answer.get("error") is not None:
            raise session.error(answer["error"])
        if answer.get("cut") is True:
            raise AssertionError(f"the output is too long: it has more than {LONGEST} characters, and begins with {_shown(said)}")
        if said.strip() != self.expected.strip():
            self._compare(_lines(said), _lines(self.expected))

    def _compare(self, lines: "list[str]", expected: "list[str]") -> None:
        for i, (got, wanted) in enumerate(zip([*lines, ""], [*expected, ""])):
            if got != wanted and not same.lines(got, wanted, self.tolerance):
                raise AssertionError(f"line {i + 1} of the output is {_shown(got)}, not {_shown(wanted)}")
        if len(lines) != len(expected):
            raise AssertionError(f"the output has {len(lines)} lines, not {len(expected)}")


def _lines(text: str) -> "list[str]":
    return [line.strip() for line in text.strip().split("\n")]


def verdict(e: Exception, session: "Session") -> "tuple[str, str]":
    """What an exception that came out of a test says of the solution, and why."""
    if any(e is r for r in session.raised):
        said, trace = e.solution  # type: ignore[attr-defined]
        return "error", trace.rstrip() or said
    message = f"{type(e).__name__}: {e}".removesuffix(": ")
    if isinstance(e, NameError):
        return "error", f"{message}: neither the tests nor the solution define it"
    if session.opaque:
        message += f" (the solution gave {', '.join(sorted(session.opaque))}, which is no data and equals nothing)"
    return "failed", _line(e) + message


def _line(e: Exception) -> str:
    """The line of the test that raised."""
    found, trace = "", e.__traceback__
    while trace is not None:
        lines = trace.tb_frame.f_globals.get("__merit_test__", "").split("\n")
        if len(lines) >= trace.tb_lineno and "__merit_test__" in trace.tb_frame.f_globals:
            found = f"line {trace.tb_lineno}: {lines[trace.tb_lineno - 1].strip()}: "
        trace = trace.tb_next
    return found
