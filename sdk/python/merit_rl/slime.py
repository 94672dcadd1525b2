"""A Merit reward as slime's reward (``--custom-rm-path my_reward.custom_rm``).

In a file of your own, two lines::

    from merit_rl.slime import function

    custom_rm = function("reward.py")

slime calls it with one sample, with the samples of a group (``--group-rm``), or with those
of an evaluation. The label is the ground truth, and the entries of the sample's metadata
are columns, as is the metadata itself. The conversation is the prompt and the response. A
response that ended at the limit of tokens (``truncated``) is scored like any other.

slime has no value for a missing score: it makes a tensor of all rewards. So a reward
without a score raises :class:`merit_rl.Halt`, or is the number chosen by ``on_unscored``.
``Sample.remove_sample`` is then set, which takes the sample out of slime's loss, though not
out of the mean of its group.
"""

from __future__ import annotations

import asyncio
from typing import Any, Awaitable, Callable, Dict, List, Mapping, Union

from merit_rl._adapting import OnUnscored, checked, halting, number, opened, row, scored, singly
from merit_rl.results import Result

Scores = Union[float, List[float]]


Marked = Callable[[Any, Result], None]


def function(reward: Any, on_unscored: OnUnscored = "raise", **options: Any) -> Callable[..., Awaitable[Scores]]:
    """Returns ``async custom_rm(args, sample, **kwargs)`` for a reward; ``sample`` may be a list.

    ``reward`` is a :class:`merit_rl.Reward` or what names one; ``options`` are
    those of ``Reward``. A reward that compares needs ``--group-rm``, and gets each group
    as a whole, by ``Sample.group_index``.
    """
    return marking(_remove, reward, on_unscored, options)


def marking(mark: Marked, reward: Any, on_unscored: OnUnscored, options: Mapping[str, Any]) -> Callable[..., Awaitable[Scores]]:
    """Returns the function of a trainer with slime's samples, which ``mark`` those that have no score."""
    chosen, scorer = checked(on_unscored), opened(reward, options)

    async def custom_rm(args: Any, sample: Any, **_: Any) -> Scores:
        samples = sample if isinstance(sample, list) else [sample]
        with halting():
            rows = [_row(i, s) for i, s in enumerate(samples)]
            if isinstance(sample, list):
                results = await asyncio.to_thread(scorer.evaluate, rows)
            else:
                results = await asyncio.to_thread(singly, scorer, rows, "slime")
            scores = [number(result, chosen) for result in results]
        for s, result in zip(samples, results):
            if not scored(result):
                mark(s, result)
        return scores if isinstance(sample, list) else scores[0]

    return custom_rm


def _remove(sample: Any, _: Result) -> None:
    sample.remove_sample = True


def _row(i: int, sample: Any) -> Dict[str, Any]:
    metadata = sample.metadata if isinstance(sample.metadata, dict) else {}
    columns = {**metadata, "metadata": metadata, "status": getattr(sample.status, "value", sample.status)}
    made = row(f"sample-{i if sample.index is None else sample.index}", columns, sample.label, sample.prompt, sample.response)
    if sample.group_index is not None:
        made["group"] = f"group-{sample.group_index}"
    return made
