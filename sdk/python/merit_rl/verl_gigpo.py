"""GiGPO's credit, and its relatives', as an advantage estimator of verl 0.9.

verl imports it by itself::

    VERL_USE_EXTERNAL_MODULES=merit_rl.verl_gigpo  python -m verl.trainer.main_ppo algorithm.adv_estimator=gigpo …

``+algorithm.merit={omega: 0.5, …}`` are settings of :func:`merit_rl.advantages`;
gamma is verl's own ``algorithm.gamma``.

A step is a run of ones in the response mask, and its state what the environment
said before it, or the text that ``anchors`` has for it, a list for each row that
an agent loop gave with ``extra_fields``. Rows that a Merit reward did not score
(``unscored``) count in no baseline, and their advantage is 0, whatever number
stands for them among the rewards.
"""

from __future__ import annotations

import inspect
from typing import Any, Mapping, Optional, Sequence, Tuple

from verl.trainer.ppo.core_algos import register_adv_est

from merit_rl._adapting import plain
from merit_rl._steps import Steps, of_steps


@register_adv_est("gigpo")  # type: ignore[untyped-decorator,unused-ignore]
def gigpo(
    token_level_rewards: Any, response_mask: Any, index: Optional[Sequence[Any]] = None, config: Any = None, **_: Any
) -> Tuple[Any, Any]:
    """verl's estimator: advantages and returns, each (rows, tokens of a response)."""
    if index is None:
        raise ValueError(
            "the batch has no uid, so there are no groups to compare; gigpo needs several answers a prompt"
        )
    seen, batch = _batch()
    unscored, anchors = seen.get("unscored"), seen.get("anchors")
    responses = batch["responses"].tolist() if batch is not None and "responses" in batch.keys() else None
    steps = Steps()
    for i, (mask, rewards) in enumerate(zip(response_mask.int().tolist(), token_level_rewards.tolist())):
        missing = unscored is not None and bool(unscored[i])
        steps.add(
            group=str(index[i]),
            mask=mask,
            score=None if missing else sum(rewards),
            rewards=of_steps(mask, rewards),
            tokens=responses[i] if responses is not None else None,
            anchors=anchors[i] if anchors is not None else None,
        )
    advantage, returned = steps.credit(_settings(config), "advantage", "return")
    advantages, returns = (
        token_level_rewards.new_zeros(response_mask.shape),
        token_level_rewards.new_zeros(response_mask.shape),
    )
    for (row, start, end), a, g in zip(steps.spans, advantage, returned):
        advantages[row, start:end], returns[row, start:end] = a, g or 0.0  # no return without a score
    return advantages, returns


def _batch() -> Tuple[Mapping[str, Any], Any]:
    """The whole batch: verl gives an estimator rewards, mask and groups, and calls it where the rest is at hand."""
    frame = inspect.currentframe()
    for _ in range(2):  # of gigpo, and of verl's compute_advantage
        frame = frame.f_back if frame else None
    data = frame.f_locals.get("data") if frame else None
    return ({}, None) if data is None else (data.non_tensor_batch, data.batch)


def _settings(config: Any) -> Mapping[str, Any]:
    get = getattr(config, "get", lambda *_: None)
    chosen = {"estimator": "gigpo", **dict(plain(dict(get("merit", None) or {})))}
    gamma = get("gamma", None)
    return chosen if gamma is None or "gamma" in chosen else {**chosen, "gamma": float(gamma)}
