"""What the author of an environment writes: one slot of it, or all at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Sequence

from .turn import Turn

if TYPE_CHECKING:
    from .turns import Turns

# The splits. Their tasks are disjoint, which only the environment can see to.
TRAIN, VALIDATION, TEST = "train", "validation", "test"
SPLITS = (TRAIN, VALIDATION, TEST)


class Described:
    """What an environment is, as attributes of the class or of the object, all
    there when its __init__ returns. The same options give the same."""

    actions: Sequence[str] = ()  # names of the discrete actions; empty = free text
    feature_shape: Sequence[int] = ()  # of the observation tensor; empty = text only
    max_steps: int = 0  # of an episode; 0 = the environment sets no limit
    system: str = ""  # opens every conversation: rules, legend, how to answer
    tools: Sequence[dict] = ()  # that an action may call, in OpenAI's form
    tasks: int = 0  # of the split: seeds that are equal modulo tasks start the same one; 0 = every seed is another


class Environment(Described):
    """One slot of an environment: it plays one episode at a time and shares no
    mutable state with the others. What it raises breaks this slot only, and Merit
    hears why. All slots are called one at a time, in the process's main thread.

    A slot that can be put back has snapshot and restore, too. An environment that
    reads recorded calls has encode.
    """

    def __init__(self, options: Any, split: str):
        """Options is an object of the dataclass that serve was given. What all
        slots need and nobody changes is loaded once by a function with
        functools.cache."""
        self.options, self.split = options, split

    def reset(self, seed: int, turn: Turn) -> None:
        """Starts the episode of the seed, 64 bits: the same seed is the same start."""
        raise NotImplementedError

    def step(self, action: Any, turn: Turn) -> None:
        """Applies an action: an index into actions, or a text. It is not called
        before reset or after the end of an episode."""
        raise NotImplementedError

    def render(self) -> str:
        """Draws the slot for people."""
        raise NotImplementedError

    def snapshot(self) -> bytes:
        """Returns the state that restore takes, at most 1 MiB."""
        raise NotImplementedError

    def restore(self, state: bytes) -> None:
        """Puts the slot, perhaps of another process, back to a snapshot: from
        here on it answers the same actions as after that."""
        raise NotImplementedError

    def encode(self, messages: Sequence[str], answer: str, turn: Turn) -> int | str | None:
        """Reads a recorded call of a model that played the environment as text: sets
        turn.anchor, turn.features and turn.mask to what reset or step would have
        set. messages are the texts of the call's input, the newest last. Returns
        the action in the answer: its index or its name, or None to let Merit look
        for a name in it. It calls turn.refuse for a call of something else, and
        changes nothing of the slot."""
        raise NotImplementedError

    def close(self) -> None:
        """Frees what the slot holds. The process ends two seconds later."""


class Vector(Described):
    """An environment that steps all its slots together, with numpy. What it raises
    fails the whole batch: Merit starts the process anew. To fail one slot, say so
    with turns.fail."""

    def __init__(self, options: Any, split: str, slots: int):
        self.options, self.split, self.slots = options, split, slots

    def reset(self, rows: Any, seeds: Any, turns: Turns) -> None:
        """Starts episodes in some slots: rows are their numbers, seeds (uint64)
        has one for each of them. What an episode is depends on its seed alone,
        not on the slot or on its neighbours."""
        raise NotImplementedError

    def step(self, rows: Any, actions: Any, turns: Turns) -> None:
        """Applies an action in some slots: indices (int32), or a list of texts. The
        other slots wait: nothing of them may change."""
        raise NotImplementedError

    def render(self, slot: int) -> str:
        """Draws a slot for people."""
        raise NotImplementedError

    def snapshot(self, slot: int) -> bytes:
        """See Environment.snapshot."""
        raise NotImplementedError

    def restore(self, slot: int, state: bytes) -> None:
        """See Environment.restore."""
        raise NotImplementedError

    def encode(self, messages: Sequence[str], answer: str, turn: Turn) -> int | str | None:
        """See Environment.encode. It gets a Turn, of one slot."""
        raise NotImplementedError

    def close(self) -> None:
        """Frees what the environment holds. The process ends two seconds later."""
