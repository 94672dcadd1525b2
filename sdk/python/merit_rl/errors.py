"""What can go wrong, each with the place, the reason and what to do next."""

from __future__ import annotations

import json
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Type


class MeritError(Exception):
    """An error of Merit: ``what`` is wrong, ``where``, and a ``hint`` at what to do next.

    ``problems`` are all that the server found, each a dict with where, what and
    hint; ``status`` is the HTTP status, ``None`` for what this side found.
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
    """What was given cannot be used: rows, columns, a reward that does not pass its check."""


class NotFound(MeritError):
    """There is no such file, or no such reward on the server."""


class NotAllowed(MeritError):
    """The server does not know the key, or its owner may not do this."""


class TooLarge(MeritError):
    """A body, a line or a batch is larger than the server takes; the error names the limit."""


class Busy(MeritError):
    """The server had no room for the request for as long as ``patience`` says."""


class Unavailable(MeritError):
    """There is no server: it cannot be reached or started, or went away again and again."""


class Unscored(MeritError):
    """Completions have no score and ``on_unscored="raise"`` was asked for."""


class Halt(BaseException):
    """A reward has no score, or could not be asked, in a trainer that would make a number of an exception.

    Not an :class:`Exception`: in several trainers those become the score 0, or a
    line in a log and an episode without a reward. A failed reward must end the
    step instead of being learned from.
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
            hint="check that the address is that of merit serve",
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
