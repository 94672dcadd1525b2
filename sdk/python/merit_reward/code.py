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
from ._candidate import CandidateError, CannotCross, Session, Stopped
from ._programs import Program

if sys.platform == "wasi":  # where what is imported now is there in every evaluation
    from . import _programs_sandbox  # noqa: F401

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Sequence, Union

    Tests = Union[str, dict[str, Any], Sequence[Union[str, dict[str, Any]]]]

__all__ = ["CandidateError", "CannotCross", "Report", "Test", "extract", "run"]

FUEL = 200_000_000
STOPPED = ("out_of_fuel", "out_of_memory", "crashed")
MAX_MESSAGE = 2000

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
        bad = [f"{t.name}: {t.verdict}: {t.message}" for t in self.tests if t.verdict != "passed"]
        return "\n".join([f"{self.passed} of {self.total} tests passed", *bad])


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
) -> Report:
    """Runs source against each of the tests, in a program that has just loaded it.

    A test is one of these, and ``tests`` is one or a list:

    - a text that defines ``check(candidate)``, as HumanEval has it; ``entry_point`` names the candidate;
    - a text of statements, as MBPP has it; a name that the tests do not define and the source does is the source's,
      if it is no built-in one;
    - ``{"input": text, "output": text}``: the source is a whole program; space at the ends of lines and of the text does not count;
    - ``{"call": [arguments], "returns": value}`` of ``entry_point``; as in JSON, a tuple counts as a list.

    ``entry_point`` may be an expression, ``Solution().add``. ``setup`` is run before a text. ``fuel`` is for
    loading the source and all calls of one test. Instances of ``classes``, which the tests make by calling
    one, keep their methods. With ``stop_at_first`` the rest is not run after a test that did not pass.

    The tests are trusted. ValueError, SyntaxError and CannotCross say that one of them is malformed.
    """
    cases = _cases.of(tests, entry_point, setup, classes)
    done: "list[Test]" = []
    for case in cases:
        test, loaded = _one(case, source, language, fuel)
        done.append(test)
        if stop_at_first and test.verdict != "passed":
            break
        if not loaded:  # what does not load for one test does not for the others
            done += [test._replace(name=c.name, fuel=0, output="") for c in cases[len(done) :]]
            break
    return Report(done, len(cases))


def _one(case: "Any", source: str, language: str, fuel: int) -> "tuple[Test, bool]":
    """What becomes of a case, and whether the source could be loaded for it."""
    session = Session(Program(language), fuel)
    verdict, message = "passed", ""
    try:
        case.run(session, source)
    except Stopped:
        pass
    except MemoryError as e:  # of this side: what came back was more than there is room for
        verdict, message = "out_of_memory", f"the test ran out of the reward's own memory {e}"
    except Exception as e:
        verdict, message = _cases.verdict(e, session)
    finally:
        session.program.close()
    if session.defect:
        raise session.defect
    if session.stopped:
        verdict, message = session.stopped
    return Test(case.name, verdict, _shown(message[:MAX_MESSAGE]), session.used, _shown(session.output)), session.loaded


def _shown(text: str) -> str:
    """The text without lone surrogates, which no result can hold."""
    return text.encode("utf-8", "replace").decode()


FENCES = {"python": ("python", "py", "python3"), "javascript": ("javascript", "js", "node", "mjs")}


def extract(text: str, language: str = "python") -> str:
    """The source in an answer: its last fenced block of the language, else its last that names none, else the text.

    A block that is not closed reaches to the end.
    """
    blocks: "dict[bool, str]" = {}
    names = FENCES.get(language, (language,))
    fence, label, lines = "", "", []  # type: str, str, list[str]
    for line in [*text.split("\n"), None]:
        mark = "" if line is None else _fence(line)
        if fence and (line is None or mark.startswith(fence) and mark == line.strip()):
            if label in names or not label:
                blocks[bool(label)] = "\n".join(lines) + "\n"
            fence = ""
        elif fence:
            lines.append(line)  # type: ignore[arg-type]
        elif mark:
            fence, lines = mark, []
            label = line.strip()[len(mark) :].strip().partition(" ")[0].lower()  # type: ignore[union-attr]
    return blocks.get(True, blocks.get(False, text))


def _fence(line: str) -> str:
    """The backticks or tildes that a line begins with, if they open or close a block."""
    line = line.strip()
    mark = line[: len(line) - len(line.lstrip(line[:1]))] if line[:1] in ("`", "~") else ""
    return mark if len(mark) >= 3 and mark[0] not in line[len(mark) :] else ""
