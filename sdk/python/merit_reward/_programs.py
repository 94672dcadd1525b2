"""Programs: fresh interpreters beside the reward, to run what it does not trust.

In the sandbox a program is an instance of its own, with its own memory, and what
it uses is taken from the reward's fuel. Natively it is a process with a time-out,
which protects from mistakes and from nothing else.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple

    class Answer(NamedTuple):
        outcome: str
        text: str
        fuel: int
else:
    from collections import namedtuple

    Answer = namedtuple("Answer", ("outcome", "text", "fuel"))

Answer.__doc__ = """How one exchange with a program ended.

``outcome`` is ``answered``, ``out_of_fuel``, ``out_of_memory`` or ``crashed`` (it
trapped, exited or broke its interpreter), ``text`` the answer or the reason, and
``fuel`` what the exchange used.
"""

ANSWERED = "answered"


class Program:
    """A fresh interpreter that answers requests until it is closed, ends or is ended.

    At most four can be open at one time; what is open when an evaluation ends is
    closed then.
    """

    def __init__(self, language: str = "python") -> None:
        if sys.platform == "wasi":
            from ._programs_sandbox import Transport
        else:
            from ._programs_native import Transport
        self._transport = Transport(language)
        self._gone, self._marked = "", False

    def ask(self, request: str, fuel: int) -> Answer:
        """One exchange, which may use so much fuel.

        After any outcome but ``answered`` the program is gone, unless it has a mark to be rewound to.
        """
        if self._gone:
            raise ValueError(f"the program is gone: {self._gone}")
        outcome, text, _ = answer = self._transport.ask(request, fuel)
        if outcome != ANSWERED:
            self._gone = f"{outcome} ({text})"
        return tuple.__new__(Answer, answer)

    def mark(self) -> None:
        """Keeps the state of the program, for rewind."""
        if self._gone:
            raise ValueError(f"the program is gone: {self._gone}")
        self._transport.mark()
        self._marked = True

    def rewind(self) -> None:
        """Returns the program to its mark, whatever it did since, even if it was stopped."""
        if not self._marked:
            raise ValueError(f"the program has no mark{self._gone and ': it is gone: '}{self._gone}")
        self._transport.rewind()
        self._gone = ""

    def close(self) -> None:
        """Ends the program; to do it again is allowed."""
        if not self._gone or self._marked:
            self._gone, self._marked = "closed", False
            self._transport.close()

    def __enter__(self) -> Program:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()
