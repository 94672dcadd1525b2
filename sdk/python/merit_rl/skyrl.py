"""Merit's estimators in SkyRL 0.4, through its AdvantageEstimatorRegistry.

In the script that starts the training, before SkyRL reads its configuration::

    from merit_rl import skyrl

    skyrl.register("gigpo", omega=0.5)

and then ``trainer.algorithm.advantage_estimator=gigpo``.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Dict, Mapping, Sequence, Tuple

from merit_rl._steps import data_of_caller, over_tokens

__all__ = ["register"]


def register(name: str, **settings: Any) -> None:
    """Adds an estimator to SkyRL's registry.

    A row of SkyRL's batch is an episode: its steps are the runs of ones in the
    loss mask, and the state of a step is what the environment said before it.
    A row whose loss mask SkyRL cleared, such as an overlong one, takes no part.

    SkyRL gives an estimator only rewards, mask and groups. The rest is read from
    the batch of SkyRL's trainer, and what rollouts add from its ``metadata``,
    where a subclass of the trainer can put lists with a value for each row:
    ``anchors`` (a text for each step), ``unscored`` (true for a row without a
    score), ``roles`` (a text for each step, for ``rae``), ``greedy_score`` (a
    number, for ``remax``) and ``parts`` (for ``gdpo``: the score of each reward by
    its name, or a dict of ``score`` and ``weight``).

    Args:
        name: what ``trainer.algorithm.advantage_estimator`` selects, and Merit's
            estimator unless ``settings`` have ``estimator``. SkyRL's own names
            (``grpo``, ``rloo``, …) are taken.
        **settings: settings of ``merit advantages``: ``estimator``, ``omega``, ….
            ``gamma`` is SkyRL's own ``trainer.algorithm.gamma`` unless given here.

    Raises:
        ValueError: SkyRL has an estimator of this name already.
    """
    from skyrl.backends.skyrl_train.utils.ppo_utils import AdvantageEstimatorRegistry

    # Ray sends a partial of a module's function by name, so every process finds it.
    AdvantageEstimatorRegistry.register(name, partial(_advantages, {"estimator": name, **settings}))


def _advantages(
    settings: Mapping[str, Any],
    *,
    token_level_rewards: Any,
    response_mask: Any,
    index: Sequence[Any],
    gamma: float = 1.0,
    **_: Any,
) -> Tuple[Any, Any]:
    """SkyRL's estimator: advantages and returns, each (rows, tokens of a response)."""
    data = data_of_caller(2)  # SkyRL's function, and the trainer's method of the same name
    if data is None:
        raise ValueError(
            "the caller has no batch, so there is nothing to tell steps by; Merit's estimators need the trainer of "
            "SkyRL 0.4, whose compute_advantages_and_returns has one"
        )
    config: Dict[str, Any] = {"gamma": float(gamma), **settings}
    if len(data["loss_mask"]) != len(response_mask):
        raise ValueError(
            f"SkyRL passes {len(response_mask)} last steps of the batch's {len(data['loss_mask'])}, without the other "
            "steps; set generator.step_wise_trajectories=false, so that a row is a whole episode"
        )
    tokens = data["sequences"][:, -response_mask.shape[1] :]
    return over_tokens(token_level_rewards, data["loss_mask"], index, tokens, data.metadata, config)
