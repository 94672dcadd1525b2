"""functools.cache and lru_cache in Python, for the functions of the author and of programs that a reward runs.

CPython's own are written in C, and a function that calls itself through C is at
the end of the interpreter's stack after some sixty calls. These have the depth
that sys.setrecursionlimit gives. Packages keep the quicker ones in C.
"""

from __future__ import annotations

import functools

from . import refusals

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

_in_c = functools._lru_cache_wrapper


def install() -> None:
    """Puts the choice where functools looks for what wraps a function."""
    functools._lru_cache_wrapper = _choose  # type: ignore[assignment, misc]


def _choose(func: "Callable[..., Any]", maxsize: "int | None", typed: bool, info: "Any") -> "Callable[..., Any]":
    code = getattr(func, "__code__", None)
    return (_in_python if code and refusals.writes(code.co_filename) else _in_c)(func, maxsize, typed, info)


def _in_python(func: "Callable[..., Any]", maxsize: "int | None", typed: bool, info: "Any") -> "Callable[..., Any]":
    kept: "dict[Any, Any]" = {}  # the one used last is the last
    hits = misses = 0
    key_of = functools._make_key  # type: ignore[attr-defined]

    def wrapper(*args: "Any", **kwds: "Any") -> "Any":
        nonlocal hits, misses
        key = key_of(args, kwds, typed)
        if key in kept:
            hits += 1
            if maxsize is None:
                return kept[key]
            result = kept[key] = kept.pop(key)
            return result
        misses += 1
        result = func(*args, **kwds)
        if maxsize is None or maxsize > 0:
            if maxsize is not None and key not in kept and len(kept) >= maxsize:
                del kept[next(iter(kept))]
            kept[key] = result
        return result

    def clear() -> None:
        nonlocal hits, misses
        kept.clear()
        hits = misses = 0

    wrapper.cache_info = lambda: info(hits, misses, maxsize, len(kept))  # type: ignore[attr-defined]
    wrapper.cache_clear = clear  # type: ignore[attr-defined]
    return wrapper
