"""What can be said of a function without calling it."""

from __future__ import annotations

from . import _shapes
from .shapes import inner as innermost

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

# what every trajectory gives by itself
OFFERED = frozenset(
    ("messages", "ground_truth", "rollout", "metadata", "rollouts_messages", "rollouts", "ground_truths", "ground_truth_for_eval")
)
TRUTH = 4  # the ground truth fills the parameter where no column does
EMPTY = 8  # the default of a setting is None or empty: it may be a column with a letter wrong
UNKNOWN, READ, IGNORED = range(3)
# what only a trainer gives
TRAINERS = frozenset("completion_ids trainer_state environments reward_router_address reward_model_tokenizer tokenizer parser args".split())


class Function:
    """What can be read of a function, an object that can be called or a method without calling it."""

    def __init__(self, func: "Callable[..., Any]") -> None:
        self.func = func
        self.mode = getattr(func, "_reward_function_mode", None)
        self.inner, bound, placed = _unwrapped(func)
        code = self.inner.__code__
        self.positional = frozenset(code.co_varnames[: code.co_posonlyargcount])
        order = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        self.names = frozenset(order[placed:]) - bound
        self.open = bool(code.co_flags & 0x08)  # **kwargs
        self.is_async = bool(code.co_flags & 0x80)
        places = order[: code.co_argcount]
        self.settings = frozenset(order[code.co_argcount :] if places[placed:] else ())  # what stands after *, where something stands before it
        defaults = self.inner.__defaults__ or ()
        self.defaults: "dict[str, Any]" = {**dict(zip(places[len(places) - len(defaults) :], defaults)), **(self.inner.__kwdefaults__ or {})}
        self.required = self.names - self.defaults.keys()
        hint = str(getattr(self.inner, "__annotations__", {}).get("ground_truth", ""))
        self.truth_is_messages = "Message]" in hint and "str" not in hint.replace("Dict[str", "").replace("dict[str", "")
        row = _shapes.of(self.names, self.required, self.inner, innermost(func))
        self.known = row  # None: a function of columns
        self.shape = None if row is _shapes.MERIT else row

    @property
    def strong(self) -> bool:
        """Whether the parameters are those of a whole reward."""
        return bool(self.known and self.known.strong(self.names, self.open))

    def asks(self, given: "dict[str, Any]") -> "dict[str, int]":
        """The parameters that only the data can fill: 2 if one has no default, 1 if its default is nothing, 0 if it is a setting; TRUTH or EMPTY beside it."""
        row = self.shape
        offered, truths = (row.fills | TRAINERS, row.truths) if row else (OFFERED, frozenset())
        needs = {n: self._need(n) for n in sorted(self.names - offered - given.keys() - {"ground_truth"})}
        needs.update((n, EMPTY) for n, need in needs.items() if need == 1 and n in self.settings - truths)
        # What the shape gives itself is there without a column: verifiers' answer is then "".
        return {n: (min(need, 1) if row and n in row.given else need) + (TRUTH if n in truths else 0) for n, need in needs.items()}

    def _need(self, name: str) -> int:
        if name in self.required:
            return 2
        default = self.defaults[name]
        return int(default is None or isinstance(default, (str, list, dict, tuple)) and not default)

    @property
    def reads_truth(self) -> int:
        """Whether the function looks at the ground truth: READ, IGNORED, or UNKNOWN."""
        row = self.shape
        if "ground_truth" in self.names or row and self.names & row.truths & row.fills:
            return READ
        if row and row.truths:
            return IGNORED  # asks has what a column may fill
        takes = self.open or not self.names.isdisjoint(("rollout", "rollouts")) or row and not row.columns
        return UNKNOWN if takes and _mentions(self.inner, "ground_truth") else IGNORED

    def bind(self, given: "dict[str, Any]") -> "frozenset[str]":
        """The names that are left when whoever runs the reward has given some."""
        offered = self.shape.given if self.shape else OFFERED
        for name in given:
            if name in offered:
                raise LookupError(f"with gives {name!r}, which every trajectory gives: leave it out")
            if name in self.positional:
                raise LookupError(f"with gives {name!r}, which the reward takes by its place only")
            if name not in self.names and not self.open:
                raise LookupError(
                    f"with gives {name!r}, which the reward {title(self.func)} does not take; {nearest(name, sorted(self.names - offered))}"
                )
        return self.names - given.keys()


def _mentions(func: "Any", name: str) -> bool:
    """Whether a function, or another one of its module, names something: as an attribute, a parameter or a text."""
    own = [v for v in getattr(func, "__globals__", {}).values() if getattr(v, "__module__", None) == func.__module__]
    inside = [f for v in own if isinstance(v, type) for f in vars(v).values()]
    codes = [c for f in (func, *own, *inside) if (c := getattr(f, "__code__", None))]
    while codes:
        code = codes.pop()
        if name in code.co_names or name in code.co_varnames or name in code.co_consts:
            return True
        codes += [c for c in code.co_consts if hasattr(c, "co_consts")]
    return False


def _unwrapped(func: "Any") -> "tuple[Any, set[str], int]":
    """The function of Python beneath wrappers, partials, objects and methods; what partials give it by name, and by place."""
    inner, bound, placed = func, set(), 0
    while True:
        if isinstance(getattr(inner, "keywords", None), dict) and hasattr(inner, "func"):  # functools.partial, also one that update_wrapper has marked
            bound.update(inner.keywords)
            placed += len(inner.args)
            inner = inner.func
        elif hasattr(inner, "__wrapped__"):
            inner = inner.__wrapped__
        elif hasattr(inner, "__func__"):  # a method
            placed += 1
            inner = inner.__func__
        elif hasattr(inner, "__code__"):
            return inner, bound, placed
        elif hasattr(type(inner).__call__, "__code__") or hasattr(type(inner).__call__, "__wrapped__"):
            placed += 1
            inner = type(inner).__call__
        else:
            raise LookupError(f"{title(func)} is not a Python function: its parameters are not known")


def title(func: "Any") -> str:
    """What a function is called."""
    while not hasattr(func, "__name__") and hasattr(func, "func"):
        func = func.func
    return str(getattr(func, "__name__", type(func).__name__))


def nearest(name: str, names: "list[str]") -> str:
    """Says what a name that is not there may have been meant for."""
    from difflib import get_close_matches

    if near := get_close_matches(name, names, 1):
        return f"did you mean {near[0]!r}?"
    return f"there is {', '.join(names)}" if names else "there is none"
