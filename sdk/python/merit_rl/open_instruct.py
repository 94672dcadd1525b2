"""A Merit reward as a verifier of open-instruct.

In a file that the training script imports before it builds its verifiers::

    from merit_rl.open_instruct import verifier

    Merit = verifier("merit", "reward.py")

Rows whose ``dataset`` is ``merit`` are then scored by it; ``--remap_verifier=math=merit`` gives it those of another
verifier. The label is the ground truth. The prompt is the query, a text; the answer is the prediction. What
the rollout's environment recorded is the column ``rollout_state``.

open-instruct has no value for a missing score, and its own verifiers make 0 of an error. So a
reward without a score raises :class:`merit_rl.Halt`, or is the number chosen by ``on_unscored``, with
the reason as ``reasoning``.
"""

from __future__ import annotations

import asyncio
from typing import Any, Optional

from merit_rl._adapting import OnUnscored, checked, halting, number, opened, row, scored, singly


def verifier(name: str, reward: Any, on_unscored: OnUnscored = "raise", **options: Any) -> type:
    """Returns a class of verifiers, which open-instruct finds among the subclasses of its ``VerifierFunction``.

    ``reward`` is a :class:`merit_rl.Reward` or what names one; ``options`` are those of ``Reward``.
    """
    from open_instruct.ground_truth_utils import VerificationResult, VerifierFunction

    chosen, scorer = checked(on_unscored), opened(reward, options)

    class Merit(VerifierFunction):  # type: ignore[misc,unused-ignore]
        def __init__(self, verifier_config: Any = None) -> None:
            super().__init__(name, verifier_config=verifier_config, weight=1.0)

        def __call__(
            self,
            tokenized_prediction: Any,
            prediction: str,
            label: Any,
            query: Optional[str] = None,
            rollout_state: Any = None,
        ) -> Any:
            with halting():
                given = row("rollout", {"rollout_state": rollout_state}, label, query, prediction)
                [result] = singly(scorer, [given], "open-instruct")
                reason = result.reason if scored(result) else f"{result.outcome}: {result.reason}"
                return VerificationResult(score=number(result, chosen), reasoning=reason or None)

        async def async_call(self, *arguments: Any, **named: Any) -> Any:
            return await asyncio.to_thread(self, *arguments, **named)

    return Merit
