"""Which numbers of its own module a reward's functions change, as a counter of calls does."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType
    from typing import Any, Iterator


def numbers(module: "Any") -> "list[str]":
    """The global numbers of the module that one of its functions assigns, sorted."""
    names = {n for code in _codes(module) for n in _assigned(code)}
    return sorted(n for n in names if type(vars(module).get(n)) in (int, float))


def _codes(module: "Any") -> "Iterator[CodeType]":
    """The code of the module's functions and methods, and of the functions within them."""
    own = [v for v in vars(module).values() if getattr(v, "__module__", None) == module.__name__]
    own += [m for v in own if isinstance(v, type) for m in vars(v).values()]
    left = [code for v in own if (code := getattr(getattr(v, "__wrapped__", v), "__code__", None))]
    while left:
        code = left.pop()
        left += [c for c in code.co_consts if isinstance(c, type(code))]
        yield code


def _assigned(code: "CodeType") -> "list[str]":
    """The globals that code assigns, of the first 256 names that it uses."""
    from opcode import opmap

    store, text = opmap["STORE_GLOBAL"], code.co_code
    return [code.co_names[text[i + 1]] for i in range(0, len(text), 2) if text[i] == store and text[i + 1] < len(code.co_names)]
