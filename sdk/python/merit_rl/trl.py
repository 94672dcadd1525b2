"""GiGPO's credit, and its relatives', in TRL's GRPOTrainer.

A :class:`merit_rl.Reward` needs nothing of this file: it is one of the
``reward_funcs``. Several are one :class:`merit_rl.Rewards`. TRL's own advantage is one number for a whole completion. For
rollouts of several turns put :class:`StepCredit` before the trainer::

    class Trainer(StepCredit, GRPOTrainer):
        credit = {"estimator": "gigpo", "gamma": 0.95}

The advantages of a batch are then those of Merit's estimator, one for each turn,
laid over its tokens. TRL's loss takes advantages of that shape from subclasses
(``_compute_loss`` of trl 1.16).
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any, ClassVar, Dict, List, Mapping, Optional, Set

from merit_rl._lines import log
from merit_rl._steps import Steps

FAILED = (
    "%s: it gives no score to %d of %d completions. These have no score at all, whatever other rewards say, and advantage "
    "0; said once for each reward. A reward that does not concern a completion must return a number for it, such as 0.0"
)

# What Steps takes of a row, and under which name the row has it.
_FIELDS = {"rewards": "step_rewards", "anchors": "anchors", "roles": "roles", "greedy_score": "greedy_score"}


class StepCredit:
    """Gives every turn of a rollout its own advantage; a mixin for ``GRPOTrainer``.

    A turn is a run of sampled tokens: TRL masks what tools, environments and
    ``rollout_func`` (``env_mask``) added. The state of a turn is what they said
    before it, or, from ``rollout_func``, the field ``anchors``: for each
    completion a text for each turn. ``step_rewards``, likewise a list for each
    completion, are rewards of the turns; without them the last has the score.
    ``roles``, also a list for each completion, say who spoke in each turn, for the
    estimator ``rae``. ``greedy_score``, from ``rollout_func`` or as a column of the
    dataset, is the score of a greedy completion of the prompt, for ``remax``.
    ``gdpo`` compares each of the ``reward_funcs`` by itself, with ``reward_weights``.

    A completion that one of several rewards failed to score (``None``, NaN) has no
    score: it counts in no baseline and has advantage 0. TRL itself would add the
    other scores and count the failure as 0.
    """

    credit: ClassVar[Mapping[str, Any]] = {"estimator": "gigpo"}  # what merit_rl.advantages takes
    failed_rewards_leave_no_score: ClassVar[bool] = True  # what rewards ask that share a trainer

    @cached_property
    def _merit_said(self) -> Set[int]:
        return set()

    def _calculate_rewards(self, *args: Any, **kwargs: Any) -> Any:
        rewards = super()._calculate_rewards(*args, **kwargs)  # type: ignore[misc]
        # Of all processes: completions × functions. TRL logs what it gets here, and takes a row of NaN for no score.
        self._merit_rewards = rewards.masked_fill(self._failed(rewards).unsqueeze(1), math.nan)
        return self._merit_rewards

    def _failed(self, rewards: Any) -> Any:
        """Which completions some reward failed to score."""
        functions = self.reward_funcs  # type: ignore[attr-defined]
        own = [i for i, f in enumerate(functions) if not _of_environments(f)]
        missing = ~rewards.isfinite()
        for i in own:
            count = int(missing[:, i].sum())
            if count and len(functions) > 1 and i not in self._merit_said:
                self._merit_said.add(i)
                log.warning(FAILED, self.reward_func_names[i], count, len(rewards))  # type: ignore[attr-defined]
        return missing[:, own].any(dim=1) | missing.all(dim=1)

    def _generate_and_score_completions(self, inputs: List[Dict[str, Any]]) -> Dict[str, Any]:
        output: Dict[str, Any] = super()._generate_and_score_completions(inputs)  # type: ignore[misc]
        output["advantages"] = self._step_advantages(inputs, output)
        return output

    def _step_advantages(self, inputs: List[Dict[str, Any]], output: Dict[str, Any]) -> Any:
        from accelerate.utils import gather_object

        mask = output["completion_mask"] * output.get("tool_mask", 1)
        tokens, masks = output["completion_ids"].tolist(), mask.int().tolist()
        episodes = gather_object(
            [
                {"mask": m, "tokens": t, **{name: row.get(field) for name, field in _FIELDS.items()}}
                for m, t, row in zip(masks, tokens, inputs)
            ]
        )
        of_group = self.num_generations if self.model.training else self.num_generations_eval  # type: ignore[attr-defined]
        steps = Steps()
        for i, (episode, score, parts) in enumerate(zip(episodes, self._scores(), self._parts())):
            steps.add(group=f"{i // of_group}", score=score, parts=parts, **episode)
        [found] = steps.credit(self.credit, "advantage")
        advantages = mask.new_zeros(mask.shape, dtype=self._merit_rewards.dtype)
        first = self.accelerator.process_index * len(inputs)  # type: ignore[attr-defined]
        for (row, start, end), advantage in zip(steps.spans, found):
            if first <= row < first + len(inputs):
                advantages[row - first, start:end] = advantage
        return advantages

    def _scores(self) -> List[Optional[float]]:
        """The weighted sum of each completion's rewards, ``None`` where one of them failed."""
        weights = self.reward_weights.tolist()  # type: ignore[attr-defined]
        scores: List[Optional[float]] = []
        for row in self._merit_rewards.tolist():
            there = [w * r for w, r in zip(weights, row) if not math.isnan(r)]
            scores.append(sum(there) if there else None)
        return scores

    def _parts(self) -> List[Optional[Dict[str, Any]]]:
        """What each function gave each completion, with its weight, if the estimator compares them one by one."""
        rows: List[List[float]] = self._merit_rewards.tolist()
        if self.credit.get("estimator") != "gdpo":
            return [None] * len(rows)
        weights = self.reward_weights.tolist()  # type: ignore[attr-defined]
        names = self.reward_func_names  # type: ignore[attr-defined]
        if len(set(names)) < len(names):  # two lambdas, say
            names = [f"{i} {name}" for i, name in enumerate(names)]
        return [
            {n: {"score": r, "weight": w} for n, r, w in zip(names, row, weights) if not math.isnan(r)} or None
            for row in rows
        ]


def _of_environments(function: Any) -> bool:
    """Whether TRL made this function of an environment's ``get_reward``: it gives None for all other environments."""
    return getattr(function, "__name__", "") == "get_reward" and function.__module__.startswith("trl.")
