"""A solution as the tests see it: names that stand for what lies in a program.

All that comes from there is data that ``_values`` has read, exceptions that were
made here by the name of a built-in one, and objects that can do nothing. So a
test compares with operators of its own interpreter, whatever the solution does
to its.
"""

from __future__ import annotations

import builtins

from . import _values
from ._values import dumps, loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Iterator

    from ._programs import Program

MAX_ANSWER = 4 << 20  # characters
MAX_OUTPUT = 1 << 16  # characters kept of what the calls of a test print
BATCH = 1024  # items of an iterator, at most, that are asked for at once
SHORT = 1024  # characters of an answer that costs nothing worth counting
CHARACTER, ITEM, LIST, OBJECT = 170, 3000, 14_000, 45_000  # fuel that it takes to read one, measured
ENDS = (StopIteration, StopAsyncIteration)  # what ends a loop where it is raised


class CandidateError(Exception):
    """An exception of the solution that is no built-in one; ``type`` is its name."""

    type = ""


class Stopped(BaseException):
    """The program is gone. Not an Exception: a test must not pass over it."""


class CannotCross(TypeError):
    """A test gives the solution what cannot be brought into a program. The fault is the test's."""


class Solution:
    """A source that is loaded once, in one program: every test begins with the state after that."""

    def __init__(self, source: str, several: bool, start: "Callable[[], Program]") -> None:
        self._source, self._several, self._start = source, several, start
        self._program: "Program | None" = None
        self._how = ""
        self._first: "Session | None" = None  # as it was when it had loaded the source
        self._answer: "dict[str, Any]" = {}

    def begin(self, how: str, fuel: int) -> "Session":
        """A session for a test: "load" defines the names of the source, "compile" readies it as a whole program."""
        if self._program and self._first and how == self._how:
            self._program.rewind()
            return Session(self._program, fuel, self._first)
        self.close()
        self._program, self._how = self._start(), how
        return Session(self._program, fuel)

    def load(self, session: "Session", preamble: bool) -> "dict[str, Any]":
        """What the program answers when the source is loaded, by this session or by one before."""
        if session.loaded:
            return self._answer
        self._answer = answer = session.ask({"do": self._how, "source": self._source, **({"preamble": True} if preamble else {})})
        if answer.get("error") is not None:
            raise session.error(answer["error"])
        session.loaded = True
        if self._several:
            session.program.mark()
            self._first = first = Session(session.program, 0)
            first.used, first.reading, first.output = session.used, session.reading, session.output
        return answer

    def close(self) -> None:
        """Ends the program."""
        if self._program:
            self._program.close()
        self._program = self._first = None


class Session:
    """One test of a program that has loaded a solution, and the fuel that is left to it."""

    def __init__(self, program: "Program", fuel: int, first: "Session | None" = None) -> None:
        self.program, self.fuel, self.used = program, fuel, 0
        self.reading = 0  # what reading the answers has cost this side
        self.output = ""
        self.loaded = False  # the source, without an exception
        self.stopped: "tuple[str, str] | None" = None  # the verdict that no test can change, and why
        self.raised: "list[BaseException]" = []  # here, for the solution
        self.defect: "CannotCross | None" = None
        self.opaque: "set[str]" = set()  # types of objects that came as no more than a name
        self.before = 0  # fuel that another session has used to load the source
        if first:
            self.loaded, self.output = True, first.output
            self.before, self.used, self.reading = first.used, first.used, first.reading

    def ask(self, request: "dict[str, Any]") -> "dict[str, Any]":
        """The answer to one request; Stopped if there is none, or it is none."""
        if self.stopped:
            raise Stopped
        outcome, text, fuel = self.program.ask(dumps(request), self.fuel - self.used)
        self.used += fuel
        if outcome != "answered":
            self._stop(outcome, text)
        try:
            if len(text) > MAX_ANSWER:
                raise ValueError(f"{len(text)} characters; the most is {MAX_ANSWER}")
            self._charge(text)
            answer = loads(text)
            if answer.__class__ is not dict:
                raise TypeError("no object")
        except Exception as e:
            return self._nonsense(e)
        if "output" in answer and request["do"] != "run":
            self.output = (self.output + self.text(answer["output"]))[:MAX_OUTPUT]
        return answer

    def _charge(self, text: str) -> None:
        """Bounds what answers cost this side: else they could use up the evaluation, and no verdict would come of it."""
        if len(text) <= SHORT:
            return
        self.reading += CHARACTER * len(text) + ITEM * text.count(",") + LIST * text.count("[") + OBJECT * text.count("{")
        if self.reading > self.fuel:
            self._stop("out_of_fuel", "to read what the program answers costs more than the fuel of the test")

    def read(self, value: "Any") -> "Any":
        """A value of an answer."""
        try:
            return _values.decode(value, self._other)
        except Exception as e:
            return self._nonsense(e)

    def call(self, request: "dict[str, Any]", args: "tuple[Any, ...]", kwargs: "dict[str, Any]") -> "Any":
        """What the solution returns, or raises; its changes of the arguments are made here too."""
        given = self._given
        try:
            request["args"] = _values.encode([*args], given)
            if kwargs:
                request["kwargs"] = {k: _values.encode(v, given) for k, v in kwargs.items()}
        except CannotCross as e:
            self.defect = e
            raise
        answer = self.ask(request)
        if "args" in answer:
            self._change(answer, args, kwargs)
        return self._instance(answer) if "keep" in request else self.value(answer)

    def _change(self, answer: "dict[str, Any]", args: "tuple[Any, ...]", kwargs: "dict[str, Any]") -> None:
        for change in self.items(answer, "args"):
            try:
                key, value = change
                _update(args[key] if type(key) is int else kwargs[key], self.read(value))
            except Exception as e:
                self._nonsense(e)

    def text(self, value: "Any") -> str:
        """A text of an answer."""
        return value if value.__class__ is str else self._nonsense(TypeError("no text"))

    def items(self, answer: "dict[str, Any]", name: str) -> "list[Any]":
        """A list of an answer, empty if it is not there."""
        items = answer.get(name, [])
        return items if items.__class__ is list else self._nonsense(TypeError(f"{name} is no list"))

    def value(self, answer: "dict[str, Any]") -> "Any":
        """The value of an answer, or its exception."""
        return self.read(self._written(answer))

    def _written(self, answer: "dict[str, Any]") -> "Any":
        if "error" in answer:
            raise self.error(answer["error"])
        if "value" not in answer:
            self._nonsense(ValueError("neither a value nor an error"))
        return answer["value"]

    def _instance(self, answer: "dict[str, Any]") -> "Opaque":
        """The object that a class was called for: no other has attributes here, whatever the program says."""
        value = self._written(answer)
        try:
            return Opaque(self, str(value["object"])[:200], str(value["repr"]), _number(value["handle"]))
        except Exception as e:
            return self._nonsense(e)

    def error(self, said: "Any") -> Exception:
        """The exception that the solution raised, of the nearest built-in type that is an Exception."""
        try:
            made = _exception(said)
        except Exception as e:
            return self._nonsense(e)
        if isinstance(made, MemoryError):
            self._stop("out_of_memory", str(made) or "MemoryError")
        self.raised.append(made)
        return made

    def _stop(self, verdict: str, why: str) -> None:
        if not self.stopped:
            self.stopped = (verdict, why)
        raise Stopped

    def _nonsense(self, e: Exception) -> "Any":
        self._stop("crashed", f"the program's answer cannot be read: {type(e).__name__}: {str(e)[:200]}")

    def _other(self, value: "dict[str, Any]") -> "Any":
        if "iterator" in value:
            if type(value["iterator"]) is not list:
                raise ValueError("no iterator")
            return self._iterator(value)
        if "callable" in value:
            return Candidate(self, None, _number(value["callable"]))
        name = str(value["object"])[:200]
        self.opaque.add(name)
        return Opaque(self, name, str(value.get("repr", name)), -1)

    def _given(self, value: "Any") -> "Any":
        """A value of a test that is no data."""
        if type(value) is Opaque and value._session is self and value._handle >= 0:
            return {"handle": value._handle}
        if isinstance(value, Candidate) and value._session is self and value._name is None:
            return {"callable": value._of}
        if hasattr(type(value), "__next__"):
            return {"iterator": [_values.encode(v, self._given) for v in value]}
        raise CannotCross(f"a test gives the solution {type(value).__name__} {str(value)[:200]!r}, which is no data: only data can be brought into a program")

    def _iterator(self, value: "dict[str, Any]") -> "Iterator[Any]":
        count = 2 * len(value["iterator"])
        while True:
            yield from map(self.read, value["iterator"])
            if value.get("error") is not None:
                raise self.error(value["error"])
            if value.get("more") is None:
                return
            value = self.ask({"do": "next", "of": _number(value["more"]), "count": min(count, BATCH)}).get("value")  # type: ignore[assignment]
            if type(value) is not dict or type(value.get("iterator")) is not list:
                self._nonsense(ValueError("no iterator"))
            count *= 2


def _number(value: "Any") -> int:
    if type(value) is not int:
        raise ValueError("a handle is an integer")
    return value


def _update(old: "Any", new: "Any") -> None:
    """Gives a container of a test the contents that it has in the program."""
    if not isinstance(old, type(new)):  # a test may give a subclass: to the program it is what it is a subclass of
        raise ValueError("an argument has become another type")
    if isinstance(old, (list, bytearray)):
        old[:] = new
    elif isinstance(old, (dict, set, _values.deque)):
        old.clear()
        (old.extend if isinstance(old, _values.deque) else old.update)(new)
    else:
        raise ValueError("an argument that cannot change has changed")


def _exception(said: "dict[str, Any]") -> Exception:
    name, message, trace = (str(said.get(k) or "")[:4096] for k in ("type", "message", "traceback"))
    for base in [name, *(said.get("bases") or ())]:
        kind = getattr(builtins, base, None)
        if type(kind) is type and issubclass(kind, Exception) and (kind is not Exception or base == name):
            break
    else:
        kind = CandidateError
    if issubclass(kind, ENDS):  # map and zip would take it for their end, and the rest of the test would not be run
        kind = CandidateError
    given = said.get("args")
    try:
        made = kind(*given) if type(given) is list and {*map(type, given)} <= {str, int, bool, type(None)} else kind(message)
    except TypeError:
        made = _bare(kind, message)
    if type(made) is CandidateError:
        made.type = name
    made.solution = name + (f": {message}" if message else ""), trace  # type: ignore[attr-defined]
    return made


def _bare(kind: "type[Exception]", message: str) -> Exception:
    """An exception of a kind that wants more than a message, such as UnicodeDecodeError, without being made as it wants."""
    try:
        return kind.__new__(kind, message)
    except TypeError:
        return CandidateError(message)


class Candidate:
    """A function of the solution: to call it runs it in the program."""

    __slots__ = ("_session", "_name", "_of", "_keep", "__name__")

    def __init__(self, session: Session, name: "str | None", of: int = -1, keep: bool = False) -> None:
        self._session, self._name, self._of, self._keep = session, name, of, keep
        self.__name__ = name or "function"

    def __call__(self, *args: "Any", **kwargs: "Any") -> "Any":
        request: "dict[str, Any]" = {"do": "call", "name": self._name}
        if self._of >= 0:
            request["of"] = self._of
        if self._keep:
            request["keep"] = True
        return self._session.call(request, args, kwargs)

    def __repr__(self) -> str:
        return f"<{self.__name__} of the solution>"


class Opaque:
    """An object of the solution that is no data: it equals nothing but itself.

    An instance of a class that ``code.run`` was given in ``classes`` has
    attributes and methods, which are the solution's, and equals another such
    instance if the solution says so.
    """

    __slots__ = ("_session", "_type", "_repr", "_handle")

    def __init__(self, session: Session, name: str, text: str, handle: int) -> None:
        self._session, self._type, self._repr, self._handle = session, name, text, handle

    def __getattr__(self, name: str) -> "Any":
        if self._handle < 0 or name[:2] == "__":
            raise AttributeError(f"an object of type {self._type} cannot be brought out of the program: it has no {name!r} here")
        answer = self._session.ask({"do": "get", "name": name, "of": self._handle})
        return Candidate(self._session, name, self._handle) if answer.get("callable") is True else self._session.value(answer)

    def __eq__(self, other: object) -> bool:
        if self is other or self._handle < 0 or type(other) is not Opaque or other._handle < 0:
            return self is other
        return self._session.call({"do": "call", "name": "__eq__", "of": self._handle}, (other,), {}) is True

    def __hash__(self) -> int:
        return hash(self._type)

    def __repr__(self) -> str:
        return self._repr
