"""The errors of this package: what is wrong, where, and what to do next."""

from __future__ import annotations

import json
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Type


class MeritError(Exception):
    """The base class of Merit's errors.

    Attributes:
        what: what is wrong.
        where: the place: a file, a row, an argument.
        hint: what to do next.
        problems: everything that the server found, as dicts with ``where``, ``what`` and
            ``hint``.
        status: the HTTP status; ``None`` if the error did not come from a server.
    """

    def __init__(
        self,
        what: str,
        *,
        where: str = "",
        hint: str = "",
        problems: Sequence[Mapping[str, str]] = (),
        status: Optional[int] = None,
    ) -> None:
        self.what, self.where, self.hint, self.status = what, where, hint, status
        self.problems: List[Dict[str, str]] = [dict(p) for p in problems]
        super().__init__(self._text())

    def _text(self) -> str:
        lines = [f"{self.where}: {self.what}" if self.where else self.what]
        said = {(self.what, self.where)}
        for p in self.problems:
            what, where = p.get("what", ""), p.get("where", "")
            if (what, where) not in said and what != lines[0]:
                lines.append("  " + (f"{where}: {what}" if where else what))
                if p.get("hint") and p["hint"] != self.hint:
                    lines.append(f"    {p['hint']}")
        return "\n".join(lines + ([self.hint] if self.hint else []))

    def __reduce__(self) -> Tuple[Any, ...]:
        return _again, (type(self), self.what, self.where, self.hint, self.problems, self.status)


def _again(
    kind: "Type[MeritError]", what: str, where: str, hint: str, problems: List[Dict[str, str]], status: Optional[int]
) -> MeritError:
    return kind(what, where=where, hint=hint, problems=problems, status=status)


class InvalidInput(MeritError):
    """An argument, a row or a reward is wrong."""


class NotFound(MeritError):
    """The file, or the reward on the server, does not exist."""


class NotAllowed(MeritError):
    """The key is unknown, or does not allow this request."""


class TooLarge(MeritError):
    """A request, a line or a batch exceeds a limit of the server; the error names the limit."""


class Busy(MeritError):
    """The server stayed busy for longer than ``patience``."""


class Unavailable(MeritError):
    """The server cannot be started or reached, or lost the connection repeatedly."""


class Unscored(MeritError):
    """A completion has no score, and ``on_unscored`` is ``"raise"``."""


class Halt(BaseException):
    """A completion has no score, in a trainer that turns exceptions into numbers.

    This is not an ``Exception``: several trainers catch exceptions of rewards and record
    0, or drop the reward. ``Halt`` stops the step instead.
    """


_KINDS: Dict[int, Type[MeritError]] = {
    400: InvalidInput,
    401: NotAllowed,
    403: NotAllowed,
    404: NotFound,
    413: TooLarge,
    415: InvalidInput,
    422: InvalidInput,
    429: Busy,
    503: Unavailable,
}


def from_problem(status: int, body: bytes) -> MeritError:
    """The error of an answer: RFC 9457 problem details, or whatever a proxy wrote."""
    try:
        said = json.loads(body)
    except ValueError:
        said = None
    kind = _KINDS.get(status, MeritError)
    if not isinstance(said, dict):
        text = body[:200].decode("utf-8", "replace").strip()
        return kind(
            f"the server answered with status {status}" + (f": {text}" if text else ""),
            hint="check that the address is that of merit serve rewards",
            status=status,
        )
    problems = [
        {k: v for k, v in p.items() if k in ("where", "what", "hint") and isinstance(v, str)}
        for p in said.get("problems") or []
        if isinstance(p, dict)
    ]
    if len(problems) == 1:
        one = problems[0]
        return kind(
            one.get("what", ""), where=one.get("where", ""), hint=one.get("hint", ""), problems=problems, status=status
        )
    what = said.get("detail") or said.get("title") or f"the server answered with status {status}"
    return kind(str(what), problems=problems, status=status)
