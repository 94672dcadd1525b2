"""Gymnasium's spaces as Merit has them: named actions, anchors and features."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from gymnasium import spaces

from .fault import Fault

LONGEST = 1024  # values of an array that is written out in an anchor


class Actions:
    """A Discrete space as named actions, a Text space as free text."""

    def __init__(self, space: spaces.Space, names: tuple[str, ...] | None):
        self.first = 0
        if isinstance(space, spaces.Text):
            self.names: tuple[str, ...] = ()
        elif isinstance(space, spaces.Discrete):
            self.first = int(space.start)
            self.names = tuple(names) if names else tuple(str(self.first + i) for i in range(int(space.n)))
            if len(self.names) != space.n:
                raise Fault(f"{len(self.names)} names are given for {space.n} actions", kind="refused")
        else:
            raise Fault(
                f"the action space is {space}: Merit's actions are those of a Discrete or a Text space", kind="refused",
                hint="wrap the environment in gymnasium.wrappers.TransformAction, with a few of its actions as a Discrete space",
            )

    def of(self, action: Any) -> Any:
        """What the environment calls an action."""
        return action if isinstance(action, str) else self.first + int(action)


class Observations:
    """Observations as anchors and, without a Text space in them, as features."""

    def __init__(self, space: spaces.Space, decimals: int):
        self._space, self._decimals = space, decimals
        self.shape: tuple[int, ...] = ()
        if not _known(space):
            raise Fault(
                f"the observation space is {space}: what it gives has no fixed number of values", kind="refused",
                hint="wrap the environment in gymnasium.wrappers.TransformObservation, which makes a Box of it",
            )
        if isinstance(space, spaces.Box):
            self.shape = tuple(space.shape) or (1,)
        elif not _says(space):
            self.shape = (spaces.flatdim(space),)

    def holds(self, seen: Any) -> bool:
        """Whether something has the form of an observation."""
        return bool(self._space.contains(seen))

    def anchor(self, seen: Any) -> str:
        """The observation as text: equal if and only if it is equal when numbers
        that are not whole are rounded to so many decimals."""
        return self._text(self._space, seen)

    def features(self, seen: Any) -> np.ndarray:
        """A Box unchanged; the rest as Gymnasium flattens it: what is one of several
        as one 1 among zeros, the parts of a Dict one behind the other."""
        if isinstance(self._space, spaces.Box):
            return np.asarray(seen, np.float32)
        return np.asarray(spaces.flatten(self._space, seen), np.float32)

    def _text(self, space: spaces.Space, seen: Any) -> str:
        if isinstance(space, spaces.Dict):
            return ";".join(f"{key}={self._text(part, seen[key])}" for key, part in space.spaces.items())
        if isinstance(space, spaces.Tuple):
            return ";".join(self._text(part, s) for part, s in zip(space.spaces, seen))
        if isinstance(space, (spaces.Discrete, spaces.Text)):
            return str(seen)
        values = np.asarray(seen).reshape(-1)
        if values.dtype.kind == "f":
            values = np.round(values.astype(np.float64), self._decimals) + 0.0  # no −0
        if values.size > LONGEST:
            return hashlib.sha256(np.ascontiguousarray(values)).hexdigest()
        if values.dtype.kind != "f":
            return ",".join(map(str, values.tolist()))
        return ",".join([f"%.{self._decimals}f"] * values.size) % tuple(values.tolist())


def _parts(space: spaces.Space) -> list[spaces.Space]:
    if isinstance(space, spaces.Dict):
        return [leaf for part in space.spaces.values() for leaf in _parts(part)]
    if isinstance(space, spaces.Tuple):
        return [leaf for part in space.spaces for leaf in _parts(part)]
    return [space]


def _known(space: spaces.Space) -> bool:
    return all(isinstance(p, (spaces.Box, spaces.Discrete, spaces.MultiBinary, spaces.MultiDiscrete, spaces.Text)) for p in _parts(space))


def _says(space: spaces.Space) -> bool:
    return any(isinstance(p, spaces.Text) for p in _parts(space))
