"""Which function of a module is its reward, and what can be said of it without calling it."""

from __future__ import annotations

from . import shapes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

NAMES = ("reward", "evaluate", "score", "compute_score")
# what every trajectory gives by itself
OFFERED = frozenset(
    ("messages", "ground_truth", "rollout", "metadata", "rollouts_messages", "rollouts", "ground_truths", "ground_truth_for_eval")
)


def pick(module: "Any", function: str = "") -> "Callable[..., Any]":
    """The function that was chosen by name; else the one that is decorated, has a usual name, or is alone in having a shape."""
    return _chosen(module, function) if function else _usual(module)


class Function:
    """What can be read of a function without calling it."""

    def __init__(self, func: "Callable[..., Any]") -> None:
        self.func = func
        self.mode = getattr(func, "_reward_function_mode", None)
        inner, bound = func, set()
        while True:
            if hasattr(inner, "__wrapped__"):
                inner = inner.__wrapped__
            elif isinstance(getattr(inner, "keywords", None), dict) and hasattr(inner, "func"):  # functools.partial
                bound.update(inner.keywords)
                inner = inner.func
            else:
                break
        if not hasattr(inner, "__code__"):
            inner = type(inner).__call__
        if not hasattr(inner, "__code__"):
            raise LookupError(f"{_title(func)} is no function of Python: its parameters are not known")
        self.inner = inner
        code = inner.__code__
        self.positional = frozenset(code.co_varnames[: code.co_posonlyargcount])
        order = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        self.names = frozenset(order) - bound
        self.open = bool(code.co_flags & 0x08)  # **kwargs
        self.is_async = bool(code.co_flags & 0x80)
        optional = set(order[code.co_argcount - len(inner.__defaults__ or ()) : code.co_argcount]) | set(inner.__kwdefaults__ or ())
        self.required = self.names - optional
        hint = str(getattr(inner, "__annotations__", {}).get("ground_truth", ""))
        self.truth_is_messages = "Message]" in hint and "str" not in hint.replace("Dict[str", "").replace("dict[str", "")
        self.shape = shapes.of(self.names, inner)

    def bind(self, given: "dict[str, Any]") -> "frozenset[str]":
        """The names that are left when whoever runs the reward has given some."""
        offered = shapes.SHAPES[self.shape].given if self.shape else OFFERED
        for name in given:
            if name in offered:
                raise LookupError(f"with gives {name!r}, which every trajectory gives: leave it out")
            if name in self.positional:
                raise LookupError(f"with gives {name!r}, which the reward takes by its place only")
            if name not in self.names and not self.open:
                raise LookupError(
                    f"with gives {name!r}, which the reward {_title(self.func)} does not take; {_nearest(name, sorted(self.names - offered))}"
                )
        return self.names - given.keys()


def _title(func: "Any") -> str:
    return str(getattr(func, "__name__", type(func).__name__))


def _nearest(name: str, names: "list[str]") -> str:
    """Says what a name that is not there may have been meant for."""
    from difflib import get_close_matches

    if near := get_close_matches(name, names, 1):
        return f"did you mean {near[0]!r}?"
    return f"there is {', '.join(names)}" if names else "there is none"


def _chosen(module: "Any", function: str) -> "Callable[..., Any]":
    func = getattr(module, function, None)
    if callable(func) and not isinstance(func, type):
        return func
    if func is not None:
        raise LookupError(f"{function} is {'a class' if callable(func) else repr(func)[:80]}, not a function")
    raise LookupError(f"the module has no function {function}; {_nearest(function, [*_functions(module)])}")


def _functions(module: "Any") -> "dict[str, Callable[..., Any]]":
    """The public functions that the module defines, and those it imports that are marked as rewards."""
    return {
        n: f
        for n, f in vars(module).items()
        if n[0] != "_"
        and callable(f)
        and not isinstance(f, type)
        and not hasattr(f, "_merit_warm_up")
        and (getattr(f, "__module__", None) == module.__name__ or hasattr(f, "_reward_function_mode"))
    }


def _usual(module: "Any") -> "Callable[..., Any]":
    functions = _functions(module)
    own = {n: f for n, f in functions.items() if hasattr(f, "_reward_function_mode") and f.__module__ == module.__name__}
    usual = [getattr(module, n) for n in NAMES if callable(getattr(module, n, None)) and (not own or n in own)]
    if len(own) == 1:
        return next(iter(own.values()))
    if usual:
        return usual[0]
    able = own or {n: f for n, f in functions.items() if _scores(f)}
    if len(able) == 1:
        return next(iter(able.values()))
    if able:
        several = ", ".join(able)
        raise LookupError(f"the module has several rewards: {several}; choose one, as in reward.py:{next(iter(able))}, or name it 'reward'")
    names = f"; or choose one of {', '.join(functions)}, as in reward.py:{next(iter(functions))}" if functions else ""
    raise LookupError(f"the module has no reward: decorate a function with @reward_function, or name it 'reward'{names}")


def _scores(func: "Any") -> bool:
    """Whether the parameters of a function are those of a reward."""
    try:
        f = Function(func)
    except LookupError:
        return False
    return bool(f.shape or f.mode or not f.names.isdisjoint(shapes.MERIT))
