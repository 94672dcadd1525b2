"""Merit rewards in verl 0.9, as its ``compute_score``; verl_gigpo is the estimator.

In verl's configuration::

    reward.custom_reward_function.path=pkg://merit_rl.verl
    reward.custom_reward_function.name=compute_score_async
    +reward.custom_reward_function.reward_kwargs.reward=reward.py

Further ``reward_kwargs`` are options of :class:`merit_rl.Reward` and
``on_unscored``. verl has no value for a missing score: ``None`` is a TypeError
far away from its cause, NaN spoils a whole batch, and two of its reward
managers take an exception for 0. So a reward without a score raises
:class:`merit_rl.Halt`, which they do not catch, or is the number
chosen by ``on_unscored``; ``unscored`` among verl's figures counts it.
"""

from __future__ import annotations

import asyncio
from typing import Any, Dict, List, Optional, Sequence

from merit_rl._adapting import OnUnscored, checked, halting, number, opened, row, same_length, scored, singly

__all__ = ["compute_score", "compute_score_async", "compute_score_batch"]

# what verl passes on to rewards that ask a reward model
_OF_REWARD_MODELS = ("reward_router_address", "reward_model_tokenizer")


def compute_score(
    data_source: Any,
    solution_str: str,
    ground_truth: Any,
    extra_info: Optional[Dict[str, Any]] = None,
    *,
    reward: Any = None,
    on_unscored: OnUnscored = "raise",
    **options: Any,
) -> Dict[str, float]:
    """Scores one answer: verl's ``compute_score``.

    The reward sees the answer as the one message, ``ground_truth``, and
    ``data_source`` and ``extra_info`` by name; ``extra_info["prompt"]``, if a
    dataset has it, comes before the answer.
    """
    return compute_score_batch(
        [data_source], [solution_str], [ground_truth], [extra_info], reward=reward, on_unscored=on_unscored, **options
    )[0]


async def compute_score_async(*arguments: Any, **options: Any) -> Dict[str, float]:
    """:func:`compute_score` for verl's event loop: a worker has many answers on their way at once."""
    return await asyncio.to_thread(compute_score, *arguments, **options)


def compute_score_batch(
    data_sources: Sequence[Any],
    solution_strs: Sequence[str],
    ground_truths: Sequence[Any],
    extra_infos: Sequence[Optional[Dict[str, Any]]],
    *,
    reward: Any = None,
    on_unscored: OnUnscored = "raise",
    **options: Any,
) -> List[Dict[str, float]]:
    """Scores many answers: what verl's ``BatchRewardManager`` calls."""
    with halting():
        chosen = checked(on_unscored)
        if not reward:
            raise ValueError("reward_kwargs name no reward; add reward: reward.py")
        n = same_length(answers=solution_strs, sources=data_sources, truths=ground_truths, infos=extra_infos)
        for name in _OF_REWARD_MODELS:
            options.pop(name, None)
        rows = [_row(i, data_sources[i], solution_strs[i], ground_truths[i], extra_infos[i]) for i in range(n)]
        results = singly(opened(reward, options), rows, "verl")
        scores = [number(r, chosen) for r in results]
    # The same keys for every answer: verl makes columns of them.
    return [{"score": s, "acc": s, "unscored": float(not scored(r))} for s, r in zip(scores, results)]


def _row(
    i: int, data_source: Any, solution: str, ground_truth: Any, extra_info: Optional[Dict[str, Any]]
) -> Dict[str, Any]:
    extra = extra_info or {}
    columns = {"data_source": data_source, "extra_info": extra_info}
    return row(f"answer-{i}", columns, ground_truth, extra.get("prompt"), solution)
