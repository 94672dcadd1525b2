"""What the adapters for trainers share: rewards by name, rows as trajectories, and what stands for a missing score."""

from __future__ import annotations

import json
import math
import threading
from contextlib import contextmanager
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Union

from merit_rl._outcomes import form
from merit_rl.errors import Busy, Halt, InvalidInput, Unavailable, Unscored
from merit_rl.results import Result, fits_float32

#: What stands for a score that is not there, where a trainer takes numbers only:
#: a number that the operator chose, or ``"raise"``.
OnUnscored = Union[str, float]

HINT = "mend the reward or its limits, or choose the number that stands for no score: on_unscored=<number>"


def checked(on_unscored: OnUnscored) -> OnUnscored:
    """Returns what was chosen for results without a score, or says what may be chosen."""
    if on_unscored == "raise":
        return "raise"
    try:
        number = float(on_unscored)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number) or isinstance(on_unscored, bool):
        raise ValueError(f'on_unscored is {on_unscored!r}; use "raise" or a finite number')
    return number


def number(result: Result, on_unscored: OnUnscored) -> float:
    """The score of a result, or what stands for it; :class:`Unscored` where nothing does."""
    if scored(result):
        return float(result.score or 0.0)
    if on_unscored == "raise":
        said = f": {result.reason}" if result.reason else ""
        if result.score is not None:
            said = f", but trainers hold scores in float32, where {result.score:g} is infinite"
        raise Unscored(f"the reward ended {result.outcome}{said}", where=result.id, hint=HINT)
    return float(on_unscored)


def scored(result: Result) -> bool:
    """Whether a result has a score that a trainer can hold."""
    return result.score is not None and fits_float32(result.score)


def unlucky(failed: Union[Result, BaseException]) -> bool:
    """Whether the infrastructure failed, so that the same row may have a score next time: a result, or what asking for one raised."""
    if isinstance(failed, Result):
        return form(failed.outcome).cause == "infrastructure"
    return isinstance(failed, (Busy, Unavailable))


def singly(reward: Any, rows: List[Dict[str, Any]], trainer: str) -> List[Result]:
    """The results of rows that ``trainer`` gives without their groups.

    A reward that compares would see groups of one, and its scores would say
    nothing: it is refused with :class:`Halt`, as the server refuses it where
    peers ask without groups.
    """
    if reward.compares:
        error = InvalidInput(
            f"it compares the members of a group, and {trainer} gives it no group",
            where=reward.__name__,
            hint="use a reward that scores one by one; or TRL, evaluated_all of merit_rl.eval_protocol, "
            "or Reward.evaluate with groups",
        )
        raise Halt(str(error))
    results: List[Result] = reward.evaluate(rows)
    return results


@contextmanager
def halting() -> Iterator[None]:
    """Whatever goes wrong inside ends the trainer's step: see :class:`Halt`."""
    try:
        yield
    except Exception as error:
        raise Halt(str(error)) from error


def row(
    id: str, columns: Mapping[str, Any], ground_truth: Any = None, prompt: Any = None, completion: Any = None
) -> Dict[str, Any]:
    """What is sent of an answer: all of it as the trainer gave it, under the names by which the server knows it."""
    made: Dict[str, Any] = {"id": id, "prompt": prompt, "completion": completion, "columns": dict(columns)}
    if ground_truth is not None:
        made["ground_truth"] = ground_truth
    return made


def fields(value: Any) -> Dict[str, Any]:
    """The fields of a row, whatever made it: a model of pydantic, a mapping."""
    dump = getattr(value, "model_dump", None)
    return dict(dump(mode="json") if dump else value)


def plain(value: Any) -> Any:
    """What a configuration holds, as dicts and lists: of OmegaConf, say."""
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain(v) for v in value]
    return value


_open: Dict[str, Any] = {}
_lock = threading.Lock()


def opened(reward: Any, options: Mapping[str, Any]) -> Any:
    """The Reward that a configuration names, made once a process; an existing one is used unchanged."""
    if not isinstance(reward, str):
        if options:
            raise TypeError(f"{', '.join(options)}: give these to the Reward itself")
        return reward
    from merit_rl import Reward

    settings = plain(options)
    key = json.dumps([reward, settings], sort_keys=True)
    with _lock:
        if key not in _open:
            _open[key] = Reward(reward, **settings)
        return _open[key]


def same_length(**lists: Iterable[Any]) -> int:
    """How long all lists are; they must be equally long."""
    lengths = {name: len(list(values)) for name, values in lists.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError("lists of different length: " + ", ".join(f"{k} {n}" for k, n in lengths.items()))
    return next(iter(lengths.values()))
