"""A class with reset and step, as in Gymnasium but without the package, as an
Environment."""

from __future__ import annotations

import dataclasses
import inspect
import random
from math import prod
from typing import Any, Callable

from .environment import SPLITS, Described, Environment
from .fault import Fault
from .policy import Policy

FLOATS = {float}
NEEDED = ("reset", "step")


class Plain(Environment):
    """One object of the author's class for each slot. An observation is its own
    anchor; numbers are also the features. The seed of a reset is three times Merit's
    plus the number of the split, so that splits share no seed."""

    made: Callable[..., Any]
    seeded: bool

    def __init__(self, options: Any, split: str):
        super().__init__(options, split)
        given = dataclasses.asdict(options)
        if "split" in inspect.signature(self.made).parameters:
            given["split"] = split
        self.env = env = type(self).made(**given)
        self.actions, self._act = _actions(env)
        self._masks = getattr(env, "action_masks", None)
        self._of = _size(getattr(env, "observation_space", None))
        for name in ("max_steps", "system", "tools", "tasks"):
            setattr(self, name, getattr(env, name, getattr(Environment, name)))
        shape = (self._of,) if self._of else _shape(_pair(self._begin(0))[0])
        self.feature_shape, self._depth = tuple(getattr(env, "feature_shape", ()) or shape), 0 if self._of else len(shape)

    def reset(self, seed: int, turn: Any) -> None:
        self._show(*_pair(self._begin(seed)), turn)

    def step(self, action: Any, turn: Any) -> None:
        said = self.env.step(self._act(action))
        if not isinstance(said, tuple) or not 3 <= len(said) <= 5:
            raise TypeError("step returns (observation, reward, terminated, truncated, info)")
        seen, turn.reward, turn.terminated = _listed(said[0]), float(said[1]), bool(said[2])
        turn.truncated = len(said) == 5 and bool(said[3]) and not turn.terminated
        self._show(seen, said[-1] if len(said) > 3 else None, turn)

    def _begin(self, seed: int) -> Any:
        seed = len(SPLITS) * seed + SPLITS.index(self.split)
        if self.seeded:
            return self.env.reset(seed=seed)
        random.seed(seed)
        return self.env.reset()

    def _show(self, seen: Any, info: Any, turn: Any) -> None:
        if self._depth:  # numbers, row by row
            for _ in range(self._depth - 1):
                seen = [part for row in seen for part in row]
            turn.anchor, turn.features = _row(seen), seen
        else:
            turn.anchor = _text(seen)
            if self._of and turn.wants_features:
                turn.features = [float(i == seen) for i in range(self._of)]
        turn.mask = info.get("action_mask") if isinstance(info, dict) else None
        if turn.mask is None and self._masks is not None:
            turn.mask = self._masks()

    def close(self) -> None:
        if callable(close := getattr(self.env, "close", None)):
            close()


def offers(plugin: Any) -> type:
    """A class of Merit unchanged, any other with reset and step as an Environment."""
    if isinstance(plugin, type) and issubclass(plugin, (Described, Policy)):
        return plugin
    if not isinstance(plugin, type) or not all(callable(getattr(plugin, name, None)) for name in NEEDED):
        raise Fault(f"{getattr(plugin, '__name__', plugin)!s} is not a class with reset and step", kind="refused")
    members: dict[str, Any] = {"made": staticmethod(plugin), "seeded": _takes(plugin.reset, "seed")}
    if callable(getattr(plugin, "render", None)):
        members["render"] = _render
    return type(plugin.__name__, (Plain,), members)


def offered(plugin: Any, options: type | None) -> tuple[type, type]:
    """What a file serves, and its options."""
    of = offers(plugin)
    return of, options or (dataclasses.make_dataclass("NoOptions", []) if of is plugin else options_of(plugin))


def options_of(plugin: type) -> type:
    """What the class is made with, as a dataclass: its arguments with defaults."""
    fields = []
    for name, p in inspect.signature(plugin).parameters.items():
        if name == "split" or p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            continue
        if p.default is p.empty:
            raise Fault(f"{plugin.__name__} has no default for {name}", kind="refused", hint="give each of its arguments a default")
        kind = Any if p.default is None else type(p.default)
        fields.append((name, kind, dataclasses.field(default_factory=lambda value=p.default: value)))
    return dataclasses.make_dataclass("Options", fields)


def only(module: Any) -> type:
    """The class of a file that serves none."""
    found = [
        c for c in vars(module).values()
        if isinstance(c, type) and c.__module__ == module.__name__ and all(callable(getattr(c, name, None)) for name in NEEDED)
    ]
    found = [c for c in found if not any(d is not c and issubclass(d, c) for d in found)]
    if len(found) == 1:
        return found[0]
    names = ", ".join(c.__name__ for c in found)
    raise Fault(
        f"the file has several classes with reset and step ({names})" if found else "the file has no class with reset and step", kind="refused",
        hint="call merit_plugin.serve with one of them" if found else "write one, or call merit_plugin.serve with it",
    )


def _render(self: Plain) -> str:
    drawn = self.env.render()
    if not isinstance(drawn, str):
        raise NotImplementedError
    return drawn


def _takes(function: Any, name: str) -> bool:
    parameters = inspect.signature(function).parameters
    return name in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())


def _size(space: Any) -> int:
    """The number of values of a discrete space: 4, or an object with n."""
    n = getattr(space, "n", space)
    return n if type(n) is int and n > 0 else 0


def _actions(env: Any) -> tuple[tuple[str, ...], Callable[[Any], Any]]:
    """The names of the actions, and what the class calls the one of an index."""
    names = getattr(env, "actions", None)
    if isinstance(names, (list, tuple)) and all(type(n) is str for n in names):
        return tuple(names), lambda action: action
    space = getattr(env, "action_space", names)
    if n := _size(space):
        first = int(getattr(space, "start", 0))
        return tuple(str(first + i) for i in range(n)), lambda action: first + action
    if isinstance(space, dict):
        return tuple(map(str, space)), [*space.values()].__getitem__
    if isinstance(space, (list, tuple, range)):
        return tuple(map(str, space)), [*space].__getitem__
    raise Fault(
        f"{type(env).__name__} says neither actions nor action_space", kind="refused",
        hint='add actions = ("left", "right"), or actions = () if an action is a text',
    )


def _pair(said: Any) -> tuple[Any, dict]:
    """An observation, and what else is known of it."""
    if isinstance(said, tuple) and len(said) == 2 and (said[1] is None or isinstance(said[1], dict)):
        return _listed(said[0]), said[1] or {}
    return _listed(said), {}


def _listed(seen: Any) -> Any:
    """An observation with Python's lists and numbers in place of numpy's."""
    kind = type(seen)
    if kind in PLAIN:
        return seen
    if hasattr(seen, "tolist"):
        return seen.tolist()
    if kind is dict:
        return {key: _listed(part) for key, part in seen.items()}
    if kind is list or kind is tuple:
        return seen if PLAIN.issuperset(map(type, seen)) else kind(map(_listed, seen))
    return seen


PLAIN = {float, int, bool, str}


def _row(numbers: Any) -> str:
    """Numbers as text: equal if they are equal when they are rounded."""
    kinds = {*map(type, numbers)}
    if kinds == FLOATS:
        return ",".join(map(TEXTS.__getitem__, numbers))
    return ",".join(map(_number, numbers) if float in kinds else map(str, numbers))


class _Texts(dict):
    """Floats as text. A few values are nearly all that most environments show, and to find
    one is quicker than to write it."""

    def __missing__(self, n: float) -> str:
        if len(self) >= MOST_TEXTS:
            self.clear()
        text = self[n] = ("%.3f" % n).replace("-0.000", "0.000")
        return text


MOST_TEXTS = 1024
TEXTS = _Texts()


def _number(n: Any) -> str:
    return TEXTS[n] if type(n) is float else str(n)


def _text(seen: Any) -> str:
    if isinstance(seen, dict):
        return ";".join(f"{key}={_text(part)}" for key, part in seen.items())
    if isinstance(seen, (list, tuple)):
        return ",".join(map(_text, seen))
    return _number(seen)


def _shape(seen: Any) -> tuple[int, ...]:
    """The shape of nested rows of numbers; none for anything else."""
    shape, row = [], seen
    while isinstance(row, (list, tuple)) and row:
        shape.append(len(row))
        row = row[0]
    for _ in shape[1:]:
        if not all(isinstance(row, (list, tuple)) for row in seen):
            return ()
        seen = [part for row in seen for part in row]
    return tuple(shape) if shape and len(seen) == prod(shape) and all(isinstance(n, (int, float)) for n in seen) else ()
