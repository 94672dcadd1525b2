"""Which function of a module is its reward.

The function that was named; else one that is marked (a decorator, a registry),
else one that has the shape of a reward, and a usual name last, among equals.
What another one calls is its helper.
"""

from __future__ import annotations

import sys
from opcode import opmap

from .functions import Function, nearest, title

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType
    from typing import Any, Callable, Iterator

NAMES = ("reward", "evaluate", "score", "compute_score", "reward_func", "reward_fn", "reward_function", "grade", "custom_rm", "batched_custom_rm")
LOAD_GLOBAL, LOAD_NAME, EXTENDED_ARG = (opmap[name] for name in ("LOAD_GLOBAL", "LOAD_NAME", "EXTENDED_ARG"))
GLOBAL_SHIFT = int(sys.version_info >= (3, 11))  # the lowest bit of the argument is a flag since then
MARKED, SHAPED, PARTLY, NAMED, IMPORTED, OTHER = range(6)


def pick(module: "Any", function: str = "") -> "tuple[str, Callable[..., Any]]":
    """The name of the reward and what is called: the function of that name, or the module's own choice."""
    name = function or _usual(module)
    return name, _made(name, _named(module, name))


class Candidate:
    """Something in a module that can be called, and how much speaks for its being the reward."""

    def __init__(self, module: "Any", name: str, value: "Any", marked: bool) -> None:
        self.name, self.value = name, value
        try:
            self.function: "Function | None" = Function(_as_trainer_knows(object.__new__(value) if isinstance(value, type) else value))
        except (LookupError, TypeError):
            self.function = None
        f, own = self.function, _home(value) == module.__name__
        decorated = hasattr(value, "_reward_function_mode")
        known = bool(f and f.known and not f.known.options.get("helper"))
        if marked or decorated and own:
            self.rank = MARKED
        elif own and known:
            self.rank = SHAPED if f and f.strong else PARTLY
        elif name in NAMES and not isinstance(value, type):
            self.rank = NAMED
        elif decorated or known:
            self.rank = IMPORTED
        else:
            self.rank = OTHER

    @property
    def shape(self) -> str:
        f = self.function
        return f.known.name if f and f.known else "columns by name"


def _usual(module: "Any") -> str:
    all_ = list(_candidates(module))
    able = [c for c in all_ if c.rank < OTHER]
    if len(able) > 1:
        helpers = _helpers(module, able)
        able = [c for c in able if c.name not in helpers]
    best = _best(able)
    if len(best) == 1:
        return best[0].name
    file = str(getattr(module, "__file__", "") or "reward.py").rpartition("/")[2]
    if best:
        several = "".join(f"\n  {file}:{c.name}  ({c.shape})" for c in best)
        raise LookupError(f"the module has several rewards; choose one, or mark it with @reward_function:{several}")
    names = [c.name for c in all_]
    rest = f"; or choose one of {', '.join(names)}, as in {file}:{names[0]}" if names else ""
    raise LookupError(f"the module has no reward: decorate a function with @reward_function, or name it 'reward'{rest}")


def _best(able: "list[Candidate]") -> "list[Candidate]":
    """Those for which the most speaks; among equals, the one with a usual name."""
    first = min((c.rank for c in able), default=OTHER)
    best = [c for c in able if c.rank == first]
    if first == PARTLY:  # a helper has such parameters as well: a usual name may be right
        best += [c for c in able if c.rank == NAMED]
    usual = [c for c in best if c.name in NAMES]
    if len(best) > 1 and len(usual) == 1 and (first != PARTLY or usual[0].rank == PARTLY):
        return usual
    return best


def _candidates(module: "Any") -> "Iterator[Candidate]":
    """All that is public in a module and can be called, each once; classes that others extend are not meant."""
    registered = _registered()
    extended = {b for v in vars(module).values() if isinstance(v, type) for b in v.__mro__[1:]}
    seen: "set[int]" = set()
    made = {type(v) for v in vars(module).values() if not isinstance(v, type)}  # classes with an instance beside them
    for name, value in sorted(vars(module).items(), key=lambda item: item[0] not in NAMES):
        marked = id(value) in registered or _rubric(value)
        if name[:1] == "_" or id(value) in seen or not callable(value) or hasattr(value, "_merit_warm_up"):
            continue
        if isinstance(value, type) and not (marked or _class(module, value) and value not in extended and value not in made):
            continue
        seen.add(id(value))
        yield Candidate(module, name, value, marked)


def _class(module: "Any", value: type) -> bool:
    return value.__module__ == module.__name__ and any("__call__" in c.__dict__ for c in value.__mro__[:-1]) and not getattr(value, "__abstractmethods__", None)


def _registered() -> "set[int]":
    """What the registries of trainers hold, such as ms-swift's orms."""
    peers = sys.modules.get("merit_reward.peers")
    return {id(v) for v in peers.orms.values()} if peers else set()


def _home(value: "Any") -> str:
    """The module in which a function, or the class of an object, was written."""
    while hasattr(value, "func") and isinstance(getattr(value, "keywords", None), dict):
        value = value.func
    return str(getattr(value, "__module__", None) or getattr(type(value), "__module__", ""))


def _helpers(module: "Any", able: "list[Candidate]") -> "set[str]":
    """The names of candidates that another one calls, directly or through other functions of the module."""
    calls = _Uses({name: value for name, value in vars(module).items() if callable(value)})
    reach = {c.name: _reached(c.name, calls) for c in able}
    return {b.name for a in able for b in able if a is not b and b.name in reach[a.name] and a.name not in reach[b.name]}


class _Uses(dict):  # type: ignore[type-arg]
    """What the values with these names use, found out for those that are asked for."""

    def __init__(self, values: "dict[str, Any]") -> None:
        self.values_by_name = values

    def __missing__(self, name: str) -> "set[str]":
        uses = self[name] = _uses(self.values_by_name[name])
        return uses


def _reached(name: str, calls: _Uses) -> "set[str]":
    found, todo = set(), [name]
    while todo:
        for used in calls[todo.pop()]:
            if used in calls.values_by_name and used not in found:
                found.add(used)
                todo.append(used)
    return found


def _uses(value: "Any") -> "set[str]":
    """The globals that a function, the methods of a class or what a partial calls read."""
    found: "set[str]" = set()
    if isinstance(getattr(value, "keywords", None), dict) and hasattr(value, "func"):
        return {title(value.func)} | _uses(value.func)
    owner = value if isinstance(value, type) else type(value)
    inner = getattr(value, "__wrapped__", value)
    codes = [inner.__code__] if hasattr(inner, "__code__") else [f.__code__ for c in owner.__mro__[:-1] for f in vars(c).values() if hasattr(f, "__code__")]
    while codes:
        code = codes.pop()
        found.update(_globals(code))
        codes += [k for k in code.co_consts if hasattr(k, "co_consts")]
    return found


def _globals(code: "CodeType") -> "Iterator[str]":
    """The globals that a code object reads. The module dis finds them at a hundred times the cost."""
    extended, instructions = 0, iter(code.co_code)
    for operation, argument in zip(instructions, instructions):
        argument |= extended << 8
        extended = argument if operation == EXTENDED_ARG else 0
        if operation == LOAD_GLOBAL:
            yield code.co_names[argument >> GLOBAL_SHIFT]
        elif operation == LOAD_NAME:
            yield code.co_names[argument]


def _named(module: "Any", name: str) -> "Any":
    """What a module, or one of its registries, has under a name."""
    value = getattr(module, name, None)
    if value is None:
        registries = [v for k, v in vars(module).items() if k[:2] != "__" and isinstance(v, dict)]
        value = next((r[name] for r in registries if callable(r.get(name))), None)
    if callable(value):
        return value
    if value is not None:
        raise LookupError(f"{name} is {value!r:.80}, not a function")
    raise LookupError(f"the module has no function {name}; {nearest(name, [c.name for c in _candidates(module)])}")


def _made(name: str, value: "Any") -> "Any":
    """An object of a class, made without arguments; all else as it is."""
    if not isinstance(value, type):
        return _as_trainer_knows(value)
    if not any("__call__" in c.__dict__ for c in value.__mro__[:-1]):
        raise LookupError(f"{name} is a class without __call__, not a function")
    code = getattr(value.__init__, "__code__", None)
    wanted: "list[str]" = []
    if code:
        places = code.co_varnames[1 : code.co_argcount]
        wanted = list(places[: len(places) - len(value.__init__.__defaults__ or ())])
        named = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
        wanted += [n for n in named if n not in (value.__init__.__kwdefaults__ or {})]
    if wanted and wanted != ["args"]:  # ms-swift gives its classes the trainer's arguments
        raise LookupError(f"the class {name} needs {', '.join(wanted)}: make an object of it in the module, as in reward = {name}(…)")
    return _as_trainer_knows(value(**dict.fromkeys(wanted)))


def _as_trainer_knows(value: "Any") -> "Any":
    """Marks an object whose class is one of ms-swift's, which are called in a way of their own."""
    peers, kind = sys.modules.get("merit_reward.peers"), type(value)
    if peers and (issubclass(kind, peers.ORM) or kind in peers.orms.values()):
        value._merit_texts = True
    return value


def _rubric(value: "Any") -> bool:
    peers = sys.modules.get("merit_reward.peers")
    return bool(peers and isinstance(value, peers.Rubric))
