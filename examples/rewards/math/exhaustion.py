"""Notices what sympy and math-verify catch and pass over: that memory, the stack or time ran out.

Both take every exception for "not equal", or for "nothing to read". Where the
reason is that something ran out, that is no verdict.
"""

from __future__ import annotations

import sys

from math_verify.errors import TimeoutException

KINDS = (MemoryError, RecursionError, TimeoutException)
_seen: "list[tuple[type[BaseException], str]]" = []


def watch() -> None:
    """From now on every exception is looked at, wherever it is caught. It costs what an exception costs; the rest costs nothing."""
    if not hasattr(sys, "monitoring"):  # natively, before 3.12: what is caught there is not noticed
        return
    tool = next(t for t in range(5, -1, -1) if sys.monitoring.get_tool(t) is None)
    sys.monitoring.use_tool_id(tool, "exhaustion")
    sys.monitoring.register_callback(tool, sys.monitoring.events.RAISE, _raised)
    sys.monitoring.set_events(tool, sys.monitoring.events.RAISE)


def _raised(_code: object, _offset: int, error: BaseException) -> None:
    if isinstance(error, KINDS) and len(_seen) < 8:
        _seen.append((type(error), str(error)))


def pass_on(but: "type[BaseException] | None" = None) -> str:
    """Raises what ran out since the last call, if anything did; says what it was if it is of the kind that may be passed over."""
    seen = _seen.copy()
    _seen.clear()
    for kind, said in seen:
        if but is None or not issubclass(kind, but):
            raise kind(said)
    return f"{seen[0][0].__name__}: {seen[0][1]}" if seen else ""
