"""GiGPO's credit, and its relatives', in TRL's GRPOTrainer.

A :class:`merit_rl.Reward` needs nothing of this file: it is one of the
``reward_funcs``. TRL's own advantage is one number for a whole completion. For
rollouts of several turns put :class:`StepCredit` before the trainer::

    class Trainer(StepCredit, GRPOTrainer):
        credit = {"estimator": "gigpo", "gamma": 0.95}

The advantages of a batch are then those of Merit's estimator, one for each turn,
laid over its tokens. TRL's loss takes advantages of that shape from subclasses
(``_compute_loss`` of trl 1.16).
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, Dict, List, Mapping, Optional

from merit_rl._steps import Steps


class StepCredit:
    """Gives every turn of a rollout its own advantage; a mixin for ``GRPOTrainer``.

    A turn is a run of sampled tokens: TRL masks what tools, environments and
    ``rollout_func`` (``env_mask``) added. The state of a turn is what they said
    before it, or, from ``rollout_func``, the field ``anchors``: for each
    completion a text for each turn. ``step_rewards``, likewise a list for each
    completion, are rewards of the turns; without them the last has the score.

    A completion that no reward scored counts in no baseline and has advantage 0,
    as in TRL itself.
    """

    credit: ClassVar[Mapping[str, Any]] = {"estimator": "gigpo"}  # what merit_rl.advantages takes

    def _calculate_rewards(self, *args: Any, **kwargs: Any) -> Any:
        rewards = super()._calculate_rewards(*args, **kwargs)  # type: ignore[misc]
        self._merit_rewards = rewards  # of all processes: completions × functions, NaN without a score
        return rewards

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
                {"mask": m, "tokens": t, "rewards": row.get("step_rewards"), "anchors": row.get("anchors")}
                for m, t, row in zip(masks, tokens, inputs)
            ]
        )
        of_group = self.num_generations if self.model.training else self.num_generations_eval  # type: ignore[attr-defined]
        steps = Steps()
        for i, (episode, score) in enumerate(zip(episodes, self._scores())):
            steps.add(group=f"{i // of_group}", score=score, **episode)
        [found] = steps.credit(self.credit, "advantage")
        advantages = mask.new_zeros(mask.shape, dtype=self._merit_rewards.dtype)
        first = self.accelerator.process_index * len(inputs)  # type: ignore[attr-defined]
        for (row, start, end), advantage in zip(steps.spans, found):
            if first <= row < first + len(inputs):
                advantages[row - first, start:end] = advantage
        return advantages

    def _scores(self) -> List[Optional[float]]:
        """The weighted sum of each completion's rewards, ``None`` where none scored it."""
        weights = self.reward_weights.tolist()  # type: ignore[attr-defined]
        scores: List[Optional[float]] = []
        for row in self._merit_rewards.tolist():
            there = [w * r for w, r in zip(weights, row) if not math.isnan(r)]
            scores.append(sum(there) if there else None)
        return scores
