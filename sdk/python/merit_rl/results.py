"""The results of evaluations."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, TypedDict

from merit_rl._outcomes import FORMS

SCORED = "scored"

#: All outcomes. Only the first one has a score.
OUTCOMES = (
    SCORED,
    "invalid",  # the author said that there is no valid score
    "guest_error",  # the author's code reported an error, or raised one
    "trap",  # the guest trapped
    "out_of_fuel",
    "out_of_memory",
    "output_limit",  # results or log larger than allowed
    "abi_violation",  # what came back is not a result
    "unaligned",  # a step that does not exist, twice, or not finite
    "timeout",  # wall clock, which is not deterministic
    "infrastructure",
)

#: What made an evaluation fail, by outcome: the row, the reward, a deterministic limit, or the
#: infrastructure. Only the last one may have a score next time.
CAUSES = {outcome: form.cause for outcome, form in FORMS.items() if form.cause}


class _Measured(TypedDict):
    score: float
    is_score_valid: bool
    reason: str


class Metric(_Measured, total=False):
    """A named number that a reward reports besides the score. Ignore ``score`` unless ``is_score_valid``.

    One with a ``weight`` is one of several rewards, whose weighted sum is the score.
    """

    weight: float


class _Step(TypedDict):
    step_index: int
    base_reward: float


class StepOutput(_Step, total=False):
    """The base reward of one step: ``step_index`` counts the assistant messages after the prompt from 0."""

    metrics: Dict[str, Metric]
    reason: str


@dataclass
class Result:
    """The result of evaluating one trajectory.

    Attributes:
        id: the trajectory's ``id``, or ``line-N``.
        outcome: one of ``OUTCOMES``.
        score: a number if ``outcome`` is ``"scored"``, else ``None``.
        step_outputs: base rewards of single steps.
        metrics: named numbers that the reward reports.
        reason: the reward's explanation, or why it failed.
        fuel: what the evaluation used; the same on every machine.
        notes: further data that the reward keeps, under the reward's name.
    """

    __slots__ = ("id", "outcome", "score", "step_outputs", "metrics", "reason", "fuel", "notes")

    id: str
    outcome: str
    score: Optional[float]
    step_outputs: List[StepOutput]
    metrics: Dict[str, Metric]
    reason: str
    fuel: int
    notes: Dict[str, Any]

    @property
    def cause(self) -> Optional[str]:
        """What made the evaluation fail, one of the values of ``CAUSES``; ``None`` if it has a score."""
        return CAUSES.get(self.outcome)

    @property
    def scored(self) -> bool:
        """Whether the trajectory has a score."""
        return self.outcome == SCORED


def result(said: Mapping[str, Any]) -> Result:
    """The result that a line of the server's answer says."""
    return Result(
        said["id"],
        said["outcome"],
        float(said["score"]) if said["outcome"] == SCORED else None,
        said.get("step_outputs") or [],
        said.get("metrics") or {},
        said.get("reason") or "",
        said.get("fuel") or 0,
        said.get("reward_notes") or {},
    )


def fits_float32(score: float) -> bool:
    """Whether a finite score is still finite in float32, which is how trainers hold it."""
    try:
        struct.pack("<f", score)
    except OverflowError:
        return False
    return True
