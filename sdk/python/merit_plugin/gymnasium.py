"""A Gymnasium environment as a plug-in, in three lines.

    import merit_plugin.gymnasium

    merit_plugin.gymnasium.serve("FrozenLake-v1")

An observation is its own anchor, as text whose numbers are rounded to some
decimals; a Box is the features, other spaces are flattened; an action mask is
taken from info["action_mask"]. The seed of a reset is three times Merit's plus the
number of the split, so that splits share no seed; whether they share starts is for
the environment to say. What cannot be wrapped is refused when it is configured.
"""

from __future__ import annotations

import contextlib
import dataclasses
import re
from typing import Any, Callable, Iterator

import gymnasium
import numpy as np

from ._process import serve as _serve
from ._spaces import Actions, Observations
from .environment import SPLITS, Environment, Vector
from .fault import Fault


@dataclasses.dataclass(frozen=True)
class Wrapping:
    """How an environment is made and shown."""

    make: Callable[..., Any]
    actions: tuple[str, ...] | None = None
    decimals: int = 3
    text: Callable[[Any], str] | None = None
    system: str = ""
    encode: Callable[[str], Any] | None = None

    def encoded(self, observations: Observations, messages: Any, turn: Any) -> None:
        """Sets the observation that the newest message says."""
        assert self.encode is not None
        seen = self.encode(messages[-1] if messages else "")
        if seen is None:
            turn.refuse("the text is not an observation")
        if not observations.holds(seen):
            raise ValueError(f"encode returned {seen!r}, which is not in the observation space")
        turn.anchor = observations.anchor(seen)
        turn.features = observations.features(seen) if observations.shape else None

    def describe(self, into: Any, env: Any, action_space: Any, observation_space: Any) -> tuple[Actions, Observations]:
        actions, observations = Actions(action_space, self.actions), Observations(observation_space, self.decimals)
        into.actions, into.feature_shape, into.system = actions.names, observations.shape, self.system
        into.max_steps = (env.spec.max_episode_steps or 0) if env.spec else 0
        return actions, observations


def serve(
    make: str | Callable[..., Any], *, name: str = "", version: str = "", summary: str = "", options: type | None = None,
    vector: bool = False, actions: tuple[str, ...] | None = None, decimals: int = 3, text: Callable[[Any], str] | None = None, system: str = "",
    encode: Callable[[str], Any] | None = None,
) -> None:
    """Serves a Gymnasium environment: its id, or a function that makes it.

    options is a dataclass; its fields are the arguments that the environment is
    made with. With vector=True a VectorEnv is wrapped, which a function makes from
    the number of slots and these arguments; it must not reset by itself. actions
    are names for those of a Discrete space, decimals are those of numbers in
    anchors, text is what a reader sees of an observation (otherwise the anchor),
    system opens every conversation. encode turns the text of a recorded call back
    into an observation, or returns None if it is none.
    """
    if isinstance(make, str):
        title, make = make, maker(make, vector)
    else:
        title = name
    short, _, number = title.rpartition("/")[2].partition("-v")
    wrapping = Wrapping(make, actions, decimals, text, system, encode)
    _serve(
        wrapped(Together if vector else Single, wrapping), name=name or re.sub(r"\W+", "-", short).lower(),
        version=version or f"{number or 0}+gymnasium{gymnasium.__version__}", summary=summary or f"{title} of Gymnasium.", options=options,
    )


class Single(Environment):
    """One gymnasium.Env for each slot."""

    wrapping: Wrapping

    def __init__(self, options: Any, split: str):
        super().__init__(options, split)
        self.env = _made(self.wrapping.make, options)
        if isinstance(self.env, gymnasium.vector.VectorEnv):
            raise Fault("several environments are made at once, one for each slot is wanted", kind="refused", hint="serve it with vector=True")
        self._check(self.env)
        self._actions, self._observations = self.wrapping.describe(self, self.env, self.env.action_space, self.env.observation_space)

    def _check(self, env: Any) -> None:
        while isinstance(env, gymnasium.Wrapper):
            if isinstance(env, gymnasium.wrappers.Autoreset):
                raise Fault("the environment resets by itself, so nobody could give an episode its seed", kind="refused", hint="make it without Autoreset")
            env = env.env

    def reset(self, seed: int, turn: Any) -> None:
        seen, info = self.env.reset(seed=_seed(seed, self.split))
        self._show(seen, info, turn)

    def step(self, action: Any, turn: Any) -> None:
        seen, reward, terminated, truncated, info = self.env.step(self._actions.of(action))
        turn.reward, turn.terminated, turn.truncated = float(reward), bool(terminated), bool(truncated)
        self._show(seen, info, turn)

    def _show(self, seen: Any, info: dict, turn: Any) -> None:
        turn.anchor = self._observations.anchor(seen)
        if self.wrapping.text and turn.wants_text:
            turn.text = self.wrapping.text(seen)
        if turn.wants_features and self.feature_shape:
            turn.features = self._observations.features(seen)
        turn.mask = info.get("action_mask")

    def render(self) -> str:
        drawn = self.env.render() if self.env.render_mode == "ansi" else None
        if not isinstance(drawn, str):
            raise NotImplementedError
        return drawn

    def close(self) -> None:
        self.env.close()


class Together(Vector):
    """One gymnasium.vector.VectorEnv for all slots. The environments of a
    SyncVectorEnv are called one by one, which they are anyway; any other steps as a
    whole, also what is over, whose reset forgets it."""

    wrapping: Wrapping

    def __init__(self, options: Any, split: str, slots: int):
        super().__init__(options, split, slots)
        self.env = env = _made(self.wrapping.make, options, slots)
        if not isinstance(env, gymnasium.vector.VectorEnv):
            raise Fault(f"a {type(env).__name__} is made, not a VectorEnv", kind="refused", hint="serve it without vector=True")
        if env.num_envs != slots:
            raise Fault(f"{env.num_envs} environments are made for {slots} slots", kind="refused", hint="take the number of slots as num_envs")
        self._each = env.envs if type(env) is gymnasium.vector.SyncVectorEnv else None
        self._actions, self._observations = self.wrapping.describe(self, env, env.single_action_space, env.single_observation_space)
        if self._each is None:
            self._check(env)
        self._live = np.zeros(slots, bool)

    def _check(self, env: Any) -> None:
        name, mode = type(env.unwrapped).__name__, env.metadata.get("autoreset_mode")
        if isinstance(env.unwrapped, (gymnasium.vector.SyncVectorEnv, gymnasium.vector.AsyncVectorEnv)):
            raise Fault(
                f"a {name} that runs in processes or is wrapped as a whole cannot reset one environment while another steps", kind="refused",
                hint="make a plain SyncVectorEnv and put wrappers around its environments, or serve it without vector=True",
            )
        if mode != gymnasium.vector.AutoresetMode.DISABLED:
            raise Fault(
                f"{name} resets by itself ({mode}), so nobody could give an episode its seed", kind="refused",
                hint="make it with autoreset_mode=DISABLED if it knows that, or serve it without vector=True",
            )
        if not self.actions:
            raise Fault("a vector environment with texts as actions is not known", kind="refused", hint="serve it without vector=True")

    def step(self, rows: Any, actions: Any, turns: Any) -> None:
        if self._each is not None:
            for slot, action in zip(rows.tolist(), actions):
                with _only(slot, turns):
                    seen, turns.reward[slot], turns.terminated[slot], turns.truncated[slot], info = self._each[slot].step(self._actions.of(action))
                    self._show(slot, seen, info.get("action_mask"), turns)
            return
        waiting = self._live.copy()
        waiting[rows] = False
        for slot in np.flatnonzero(waiting):
            turns.fail(slot, "a vector environment of Gymnasium steps all its episodes: none can wait for a decision")
            self._live[slot] = False
        chosen = np.full(self.slots, self._actions.first, self.env.action_space.dtype)
        chosen[rows] += actions.astype(chosen.dtype)
        seen, reward, terminated, truncated, info = self.env.step(chosen)
        turns.reward[rows], turns.terminated[rows], turns.truncated[rows] = reward[rows], terminated[rows], truncated[rows]
        self._live[rows] = ~(terminated[rows] | truncated[rows])
        self._show_all(rows, seen, info, turns)

    def reset(self, rows: Any, seeds: Any, turns: Any) -> None:
        given: list[int | None] = [None] * self.slots
        for slot, seed in zip(rows.tolist(), seeds.tolist()):
            given[slot] = _seed(seed, self.split)
        if self._each is not None:
            for slot in rows.tolist():
                with _only(slot, turns):
                    seen, info = self._each[slot].reset(seed=given[slot])
                    self._show(slot, seen, info.get("action_mask"), turns)
            return
        mask = np.zeros(self.slots, bool)
        mask[rows] = self._live[rows] = True
        seen, info = self.env.reset(seed=given, options={"reset_mask": mask})
        self._show_all(rows, seen, info, turns)

    def _show_all(self, rows: Any, seen: Any, info: dict, turns: Any) -> None:
        each, masks = list(gymnasium.vector.utils.iterate(self.env.observation_space, seen)), info.get("action_mask")
        for slot in rows.tolist():
            self._show(slot, each[slot], None if masks is None else masks[slot], turns)

    def _show(self, slot: int, seen: Any, mask: Any, turns: Any) -> None:
        turns.anchor[slot] = self._observations.anchor(seen)
        if self.wrapping.text and turns.wants_text:
            turns.text = turns.text or [""] * self.slots
            turns.text[slot] = self.wrapping.text(seen)
        if turns.wants_features and self.feature_shape:
            turns.features[slot] = self._observations.features(seen)
        if mask is not None:
            turns.mask[slot] = np.asarray(mask).astype(bool)

    def close(self) -> None:
        self.env.close()


@contextlib.contextmanager
def _only(slot: int, turns: Any) -> Iterator[None]:
    """Has a failure cost one slot."""
    try:
        yield
    except Exception as e:
        turns.fail(slot, f"{type(e).__name__}: {e}")


def maker(id: str, vector: bool) -> Callable[..., Any]:
    if vector:
        return lambda slots, **options: gymnasium.make_vec(id, num_envs=slots, **options)
    return lambda **options: gymnasium.make(id, disable_env_checker=True, **options)


def wrapped(kind: type, wrapping: Wrapping) -> type:
    members: dict[str, Any] = {"wrapping": wrapping}
    if wrapping.encode is not None:
        members["encode"] = lambda self, messages, _answer, turn: wrapping.encoded(self._observations, messages, turn)
    return type(kind.__name__, (kind,), members)


def _made(make: Callable[..., Any], options: Any, *slots: int) -> Any:
    try:
        return make(*slots, **dataclasses.asdict(options))
    except gymnasium.error.Error as e:
        raise Fault(f"Gymnasium does not make the environment: {e}", kind="refused") from None


def _seed(seed: int, split: str) -> int:
    return len(SPLITS) * seed + SPLITS.index(split)
