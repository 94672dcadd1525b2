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

Some estimators read more of ``non_tensor_batch``, where ``extra_fields`` and the
keys of ``compute_score`` are: ``rae`` reads ``roles``, a list for each row with
who decided in each step; ``remax`` reads ``greedy_score``, the score of a greedy
answer to the prompt; ``gdpo`` reads the keys that verl's own
``algorithm.gdpo_reward_keys`` names, with ``algorithm.gdpo_reward_weights``.
"""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from verl.trainer.ppo.core_algos import register_adv_est

from merit_rl._adapting import plain
from merit_rl._steps import data_of_caller, over_tokens


@register_adv_est("gigpo")  # type: ignore[untyped-decorator,unused-ignore]
def gigpo(
    token_level_rewards: Any, response_mask: Any, index: Optional[Sequence[Any]] = None, config: Any = None, **_: Any
) -> Tuple[Any, Any]:
    """verl's estimator: advantages and returns, each (rows, tokens of a response)."""
    if index is None:
        raise ValueError(
            "the batch has no uid, so there are no groups to compare; gigpo needs several answers a prompt"
        )
    data = data_of_caller(1)  # verl's compute_advantage
    seen, batch = ({}, {}) if data is None else (data.non_tensor_batch, data.batch)
    tokens = batch["responses"] if "responses" in batch.keys() else None
    given = {**seen, "parts": _parts(seen, config)}
    return over_tokens(token_level_rewards, response_mask, index, tokens, given, _settings(config))


def _parts(seen: Mapping[str, Any], config: Any) -> Optional[List[Optional[Dict[str, Any]]]]:
    """The scores of each row that verl's settings of GDPO name, with their weights."""
    get = getattr(config, "get", lambda *_: None)
    keys = list(get("gdpo_reward_keys", None) or ())
    if not keys:
        return None
    weights = list(get("gdpo_reward_weights", None) or [1.0] * len(keys))
    missing = [key for key in keys if key not in seen]
    if missing:
        raise ValueError(
            f"algorithm.gdpo_reward_keys names {', '.join(missing)}, but the batch has {', '.join(sorted(seen))}; "
            "compute_score must return each key"
        )
    if len(weights) != len(keys):
        raise ValueError(
            f"algorithm.gdpo_reward_keys has {len(keys)} keys and gdpo_reward_weights {len(weights)} weights; "
            "give one weight for each key"
        )
    rows = zip(*(seen[key] for key in keys))
    return [
        {k: {"score": float(x), "weight": float(w)} for k, x, w in zip(keys, row, weights) if x is not None} or None
        for row in rows
    ]


def _settings(config: Any) -> Mapping[str, Any]:
    get = getattr(config, "get", lambda *_: None)
    chosen = {"estimator": "gigpo", **dict(plain(dict(get("merit", None) or {})))}
    gamma = get("gamma", None)
    return chosen if gamma is None or "gamma" in chosen else {**chosen, "gamma": float(gamma)}
