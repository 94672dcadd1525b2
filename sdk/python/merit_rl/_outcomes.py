"""How the outcome of an evaluation is said in other tools.

These are rows of internal/outcomes, whose test compares them.
"""

from __future__ import annotations

from typing import NamedTuple, Optional


class Form(NamedTuple):
    """What made an evaluation fail, verifiers' name of that error, and the Sample.Status of miles."""

    cause: Optional[str]
    verifiers: Optional[str]
    miles: str


FORMS = {
    "scored": Form(None, None, "completed"),
    "invalid": Form("row", "TaskError", "failed"),
    "guest_error": Form("reward", "TaskError", "failed"),
    "trap": Form("reward", "TaskError", "failed"),
    "out_of_fuel": Form("limit", "TaskError", "failed"),
    "out_of_memory": Form("limit", "TaskError", "failed"),
    "output_limit": Form("limit", "TaskError", "failed"),
    "abi_violation": Form("reward", "TaskError", "failed"),
    "unaligned": Form("reward", "TaskError", "failed"),
    "timeout": Form("infrastructure", "SandboxError", "aborted"),
    "infrastructure": Form("infrastructure", "SandboxError", "aborted"),
}


def form(outcome: str) -> Form:
    """The row of an outcome; one that is unknown counts as failed by the infrastructure."""
    return FORMS.get(outcome, FORMS["infrastructure"])
