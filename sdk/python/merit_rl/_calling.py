"""What is known of the trainer that calls a reward: its groups, its other rewards, its other processes."""

from __future__ import annotations

import sys
from typing import Any, Callable, List, Mapping

from .errors import MeritError


class Caller:
    """The trainer behind one call.

    TRL gives every reward function ``log_metric``, which is a method of the
    trainer. Other trainers give ``trainer_state`` only, or nothing.
    """

    def __init__(self, columns: Mapping[str, Any]) -> None:
        owner = getattr(columns.get("log_metric"), "__self__", None)
        self._trainer = owner if hasattr(owner, "num_generations") else None
        self.is_trainer = self._trainer is not None or "trainer_state" in columns

    @property
    def group_size(self) -> int:
        """How many completions in a row are one group; 0 where the trainer does not say."""
        if self._trainer is None:
            return 0
        size = self._trainer.num_generations
        training = getattr(getattr(self._trainer, "model", None), "training", True)
        return int(size if training else getattr(self._trainer, "num_generations_eval", None) or size)

    @property
    def is_spread(self) -> bool:
        """Whether the trainer calls in several processes at the same time."""
        return self._trainer is not None and processes() > 1

    def others(self, reward: Any) -> List[str]:
        """The names of the reward functions whose numbers the trainer adds to those of ``reward``.

        None where the trainer itself leaves out a completion that any of them
        failed to score, or where ``reward`` is a part of one that does so.
        """
        functions = [getattr(f, "reward", f) for f in getattr(self._trainer, "reward_funcs", None) or []]
        careful = getattr(self._trainer, "failed_rewards_leave_no_score", False)
        if careful or any(reward is part for f in functions for part in getattr(f, "parts", ())):
            return []
        return [_name(f) for f in functions if f is not reward] if len(functions) > 1 else []


def _name(function: Any) -> str:
    return str(getattr(function, "__name__", type(function).__name__))


def processes() -> int:
    """How many processes train together: 1 unless torch.distributed is in use."""
    torch = _distributed()
    return int(torch.get_world_size()) if torch else 1


def rank() -> int:
    """Which of these processes this one is."""
    torch = _distributed()
    return int(torch.get_rank()) if torch else 0


def in_all(make: Callable[[], Any]) -> List[Any]:
    """What ``make`` returns in each process, by rank. Every process must call this; an error in one is raised in all."""
    mine, error = None, None
    try:
        mine = make()
    except Exception as e:
        error = e if isinstance(e, MeritError) else MeritError(f"process {rank()}: {type(e).__name__}: {e}")
    everyone: List[Any] = [None] * processes()
    _distributed().all_gather_object(everyone, (mine, error))
    for _, error in everyone:
        if error is not None:
            raise error
    return [given for given, _ in everyone]


def _distributed() -> Any:
    torch = sys.modules.get("torch.distributed")
    return torch if torch is not None and torch.is_available() and torch.is_initialized() else None
