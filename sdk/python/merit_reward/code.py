"""Runs code that a model has written against tests, for rewards.

    from merit_reward import code

    report = code.run(code.extract(answer), ["assert add(1, 2) == 3"])
    score = float(report.all_passed)

The code runs in a program: an interpreter of its own, with memory and fuel of
its own. The tests run here, in the interpreter of the reward, where the code's
functions are proxies: what is called and what comes back are data. So it cannot
see what a test expects, change how the test compares, or end it well.
docs/running-code.md says what this protects from, and what not.
"""

from __future__ import annotations

import sys
from collections import namedtuple

from . import _cases
from ._candidate import CandidateError, CannotCross, Session, Solution, Stopped
from ._problems import Problem, problem
from ._programs import Answer, Program
from ._values import dumps, encode

if sys.platform == "wasi":  # where what is imported now is there in every evaluation
    from . import _programs_sandbox  # noqa: F401

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Sequence, Union

    Tests = Union[str, dict[str, Any], Sequence[Union[str, dict[str, Any]]]]

__all__ = ["CandidateError", "CannotCross", "Problem", "Report", "Test", "extract", "problem", "run"]

FUEL = 200_000_000
UNLIMITED = 1 << 62
MAX_TOLD = 1 << 16  # characters of requests that go to the program in one exchange
STOPPED = ("out_of_fuel", "out_of_memory", "crashed")
VERDICTS = ("passed", "failed", "error", *STOPPED)
MAX_MESSAGE = 2000
MAX_SHOWN = 8  # tests that a report explains
MAX_LISTED = 40  # numbers and ranges of numbers that it lists for a verdict

Test = namedtuple("Test", ("name", "verdict", "message", "fuel", "output"))
Test.__doc__ = """What became of one test.

``verdict`` is "passed"; "failed": an assertion, a wrong value; "error": the code
raised, does not compile or does not have the name; or the program was stopped:
"out_of_fuel", "out_of_memory", "crashed". ``message`` says why it is not "passed",
``fuel`` what the program used, ``output`` what the code printed.
"""


class Report:
    """The tests that were run, in their order; ``total`` counts those that were not, too."""

    def __init__(self, tests: "list[Test]", total: int) -> None:
        self.tests, self.total = tests, total

    @property
    def passed(self) -> int:
        """How many tests passed."""
        return sum(t.verdict == "passed" for t in self.tests)

    @property
    def all_passed(self) -> bool:
        """Whether all did, and there is one."""
        return self.passed == self.total > 0

    @property
    def stopped(self) -> "Test | None":
        """The first test whose program was stopped, if there is one: out of fuel, out of memory, crashed."""
        return next((t for t in self.tests if t.verdict in STOPPED), None)

    @property
    def fuel(self) -> int:
        """What the programs have used."""
        return sum(t.fuel for t in self.tests)

    def __str__(self) -> str:
        """How many passed, which did not, and why the first of these did not."""
        bad = [t for t in self.tests if t.verdict != "passed"]
        head = f"{self.passed} of {self.total} tests passed"
        if self.total > 1 and bad:
            head += "; " + "; ".join(_listed(v, [i + 1 for i, t in enumerate(self.tests) if t.verdict == v]) for v in VERDICTS[1:] if any(t.verdict == v for t in bad))
        if len(self.tests) < self.total:
            head += f"; {self.total - len(self.tests)} not run"
        shown = [f"{t.name}: {t.verdict}: {t.message if n < 3 else t.message.strip()[-200:]}" for n, t in enumerate(bad[:MAX_SHOWN])]
        return "\n".join([head, *shown, *([f"and {len(bad) - MAX_SHOWN} more"] if len(bad) > MAX_SHOWN else [])])


def _listed(verdict: str, numbers: "list[int]") -> str:
    """A verdict and the tests that have it: "failed: 3, 7-9"."""
    runs: "list[list[int]]" = []
    for n in numbers:
        if runs and runs[-1][1] == n - 1:
            runs[-1][1] = n
        else:
            runs.append([n, n])
    shown = [str(a) if a == b else f"{a}-{b}" for a, b in runs]
    return f"{verdict}: {', '.join(shown[:MAX_LISTED])}{', …' if len(shown) > MAX_LISTED else ''}"


def run(
    source: str,
    tests: "Tests",
    *,
    language: str = "python",
    entry_point: "str | None" = None,
    fuel: int = FUEL,
    stop_at_first: bool = False,
    setup: str = "",
    classes: "Sequence[str]" = (),
    tolerance: float = 0.0,
    total_fuel: int = 0,
    preamble: bool = False,
) -> Report:
    """Runs source against each of the tests, in a program that has just loaded it.

    A test is one of these, and ``tests`` is one or a list:

    - a text that defines ``check(candidate)``, as HumanEval has it; ``entry_point`` names the candidate;
    - a text of statements, as MBPP has it; a name that the tests do not define and the source does is the source's,
      if it is no built-in one;
    - ``{"input": text, "output": text}``: the source is a whole program. Lines are compared without the space around them,
      and numbers by value: 0.50 is 0.5;
    - ``{"call": [arguments], "returns": value}`` of ``entry_point``; as in JSON, a tuple counts as a list.

    ``entry_point`` may be an expression, ``Solution().add``; a name that the source does not define is a method of
    its class Solution. ``setup`` is run before a text. ``fuel`` is for
    loading the source and all calls of one test; the source is loaded once, at the first. A test that is stopped
    does not stop the others, unless all of them have used up ``total_fuel`` (0: no limit). Instances of
    ``classes``, which the tests make by calling one, keep their methods. With ``stop_at_first`` the rest is not
    run after a test that did not pass. ``tolerance`` is the relative and absolute error that a float may have in a
    result or an output; a test of these two forms may have its own. A call may have a second result that is right
    too, "or". With ``preamble`` the source may use what
    contest platforms import before it: List, deque, gcd, heappush and the like.

    The tests are trusted. ValueError, SyntaxError and CannotCross say that one of them is malformed.
    """
    cases = _cases.of(tests, entry_point, setup, classes, tolerance)
    kind = "python_numpy" if language == "python" and "numpy" in source and sys.platform == "wasi" else language
    solution = Solution(source, len(cases) > 1, lambda: Program(kind))
    told = _Told(solution, cases, growing=stop_at_first)
    done: "list[Test]" = []
    spent = 0
    try:
        for case in cases:
            rest = total_fuel - spent if total_fuel else UNLIMITED
            left = min(fuel, rest)
            if left <= 0:
                done += [Test(c.name, "out_of_fuel", f"not run: the tests before it used up total_fuel, {total_fuel}", 0, "") for c in cases[len(done) :]]
                break
            session = told.session(len(done), fuel, left, rest) or solution.begin(case.how, left)
            test, loaded = _one(case, solution, session, preamble)
            done.append(test)
            spent += test.fuel
            if stop_at_first and test.verdict != "passed":
                break
            if not loaded:  # what does not load for one test does not for the others
                done += [test._replace(name=c.name, fuel=0, output="") for c in cases[len(done) :]]
                break
    finally:
        solution.close()
    return Report(done, len(cases))


def _one(case: "Any", solution: Solution, session: Session, preamble: bool) -> "tuple[Test, bool]":
    """What becomes of a case, and whether the source could be loaded for it."""
    verdict, message = "passed", ""
    try:
        case.run(session, solution.load(session, preamble))
    except Stopped:
        pass
    except MemoryError as e:  # of this side: what came back was more than there is room for
        verdict, message = "out_of_memory", f"the test ran out of the reward's own memory {e}"
    except Exception as e:
        verdict, message = _cases.verdict(e, session)
    if session.defect:
        raise session.defect
    if session.stopped:
        verdict, message = session.stopped
    used = session.used - session.before
    return Test(case.name, verdict, _shown(message[:MAX_MESSAGE]), used, _shown(session.output)), session.loaded


class _Told:
    """Answers to the tests that come next, which the host got from the program in one exchange.

    A call or an input is one request, and known before its test runs. The host returns
    the program to its mark before each, as before a test that asks for itself.
    """

    def __init__(self, solution: Solution, cases: "list[Any]", growing: bool) -> None:
        self._solution, self._cases, self._growing = solution, cases, growing
        self._answers: "list[Answer]" = []  # to the next cases, the last first
        self._name: "str | None" = None

    def session(self, at: int, fuel: int, left: int, total: int) -> "Session | None":
        """The session of a case that has its answer; None if the case must ask. ``left`` is the fuel of this test, ``total`` that of all."""
        first = self._solution._first
        if first is None or sys.platform != "wasi":
            return None
        if not self._answers:
            requests = self._requests(at)
            if len(requests) < 2:
                return None
            self._answers = _each(first, requests, fuel - first.used, total - first.used)[::-1]
        return _Answered(self._answers.pop(), left, first)

    def _requests(self, at: int) -> "list[str]":
        """The requests of the cases from one on, as far as they are known and short: at first few, if the others may not be run."""
        requests: "list[str]" = []
        room = MAX_TOLD
        for case in self._cases[at : 2 * at if self._growing else None]:
            request = self._request(case)
            if request is None or (room := room - len(request)) < 0:
                break
            requests.append(request)
        return requests

    def _request(self, case: "Any") -> "str | None":
        if case.how != self._solution._how:
            return None
        if isinstance(case, _cases.Exchange):
            return dumps({"do": "run", "input": case.input})
        if not isinstance(case, _cases.Call) or not self._named(case.entry_point):
            return None
        try:
            return dumps({"do": "call", "name": self._name, "args": encode(case.args, _cannot)})
        except CannotCross:  # which the test raises in its turn
            return None

    def _named(self, entry_point: str) -> bool:
        """Whether it is known what calls name, which is the same for all of them."""
        names = self._solution._answer.get("names")
        if self._name is None and names.__class__ is list:
            try:
                self._name = _cases._entry(None, entry_point, {n for n in names if n.__class__ is str}, frozenset())._name  # type: ignore[arg-type]
            except NameError:  # which the test raises in its turn
                pass
        return self._name is not None


def _cannot(_value: "Any") -> "Any":
    raise CannotCross


def _each(first: Session, requests: "list[str]", fuel: int, total: int) -> "list[Answer]":
    """The answers to some of the requests, at least the first: what stops the program ends the exchange."""
    head = b"each %d %d %d\n" % (first.program._transport._handle, max(fuel, 0), min(max(total, 0), UNLIMITED))
    data = _programs_sandbox.exchange(head + "\n".join(requests).encode())[2].encode()
    answers: "list[Answer]" = []
    end = 0
    while end < len(data):
        begin = data.index(b"\n", end) + 1
        outcome, used, length = data[end:begin].split()
        end = begin + int(length)
        answers.append(Answer(outcome.decode(), data[begin:end].decode(), int(used)))
    return answers


class _Answered(Session):
    """The session of a test whose one request the program has answered."""

    def __init__(self, answer: Answer, fuel: int, first: Session) -> None:
        super().__init__(_Past(answer), fuel, first)  # type: ignore[arg-type]

    def ask(self, request: "dict[str, Any]") -> "dict[str, Any]":
        """The answer, which is read as any other."""
        return super().ask({"do": request["do"]})

    def call(self, request: "dict[str, Any]", args: "tuple[Any, ...]", kwargs: "dict[str, Any]") -> "Any":
        """What the solution returned, or raised."""
        answer = self.ask(request)
        if "args" in answer:
            self._change(answer, args, kwargs)
        return self.value(answer)


class _Past:
    """A program as it answered."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer

    def ask(self, _request: str, _fuel: int) -> Answer:
        """The answer."""
        return self._answer


def _shown(text: str) -> str:
    """The text without lone surrogates, which no result can hold."""
    return text.encode("utf-8", "replace").decode()


FENCES = {"python": ("python", "py", "python3"), "javascript": ("javascript", "js", "node", "mjs")}


def extract(text: str, language: str = "python") -> str:
    """The source in an answer: its last fenced block of the language, else its last that names none, else the text.

    A block that is not closed reaches to the first line that ends in its fence, or to the end. A text without blocks
    is what is between its last tags of ``TAGS``, if it has some.
    """
    blocks: "dict[bool, list[str]]" = {}
    names = FENCES.get(language, (language,))
    fence, label, indent, lines = "", "", 0, []  # type: str, str, int, list[str]
    for line in [*text.split("\n"), None]:
        mark = "" if line is None else _fence(line)
        if fence and (line is None or mark.startswith(fence) and mark == line.strip()):
            if label in names or not label:
                blocks[bool(label)] = lines if line is not None else _glued(lines, fence)
            fence = ""
        elif fence:
            lines.append(line[min(indent, len(line) - len(line.lstrip())) :])  # type: ignore[index, union-attr]
        elif mark:
            fence, lines = mark, []
            label, indent = _label(line, mark)  # type: ignore[arg-type]
    for found in (blocks.get(True), blocks.get(False)):
        if found is not None:
            return "\n".join(found) + "\n"
    return _tagged(text)


TAGS = (("<answer>", "</answer>"), ("<code>", "</code>"), ("[PYTHON]", "[/PYTHON]"), ("[BEGIN]", "[DONE]"))


def _tagged(text: str) -> str:
    """What is between the last tags of a kind, or the text."""
    for begin, end in TAGS:
        before, found, rest = text.rpartition(begin)
        if found and not before.rpartition("\n")[2].strip():  # it begins a line
            return rest.partition(end)[0].strip("\n") + "\n"
    return text


def _label(line: str, mark: str) -> "tuple[str, int]":
    """The language that a fence names, as in "python", "{.python}" or "python:main.py", and how far it is indented."""
    said = line.strip()[len(mark) :].lstrip(" {.").lower()
    end = next((i for i, c in enumerate(said) if not c.isalnum() and c not in "+#-_"), len(said))
    return said[:end], len(line) - len(line.lstrip())


def _glued(lines: "list[str]", fence: str) -> "list[str]":
    """A block up to the first line that ends in its fence, behind code."""
    for i, line in enumerate(lines):
        if line.rstrip().endswith(fence):
            return [*lines[:i], line.rstrip()[: -len(fence)]]
    return lines


def _fence(line: str) -> str:
    """The backticks or tildes that a line begins with, if they open or close a block."""
    line = line.strip()
    mark = line[: len(line) - len(line.lstrip(line[:1]))] if line[:1] in ("`", "~") else ""
    return mark if len(mark) >= 3 and mark[0] not in line[len(mark) :] else ""
