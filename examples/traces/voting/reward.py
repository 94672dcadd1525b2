"""How good are agents at telling which answer is right? The share of their votes that went to a right answer, 0 to 1.

An answer is right if it is the ground truth, whatever its case and the space around it. A vote counts for what the agent that
it names had answered last in that round or before. The metrics have the share of each agent that voted.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from merit_reward import EvaluateResult, Message, reward_function

__merit__ = {"name": "trace-voting"}


@reward_function
def reward(messages: list[Message], ground_truth: Any = None, *, spans: list[dict] | None = None, **_: Any) -> EvaluateResult:
    """The mean over all votes; invalid where nobody voted, or where nothing says what is right."""
    if ground_truth is None:
        return invalid("there is no ground truth to hold votes to")
    right = plain(ground_truth)
    said: dict[str, str] = {}
    votes: dict[str, list[float]] = defaultdict(list)
    events = [s for s in spans or [] if s["kind"] == "coordination"]
    for span in events:  # in the order in which they happened
        event = span["coordination"]
        if event["event"] == "answer":
            said[span.get("agent", "")] = plain(span.get("text", ""))
        elif event["event"] == "vote":
            votes[span.get("agent", "")].append(float(said.get(event.get("for", ""), None) == right))
    every = [v for cast in votes.values() for v in cast]
    if not every:
        return invalid("nobody voted")
    shares = {name or "unknown": sum(cast) / len(cast) for name, cast in sorted(votes.items())}
    return EvaluateResult(score=sum(every) / len(every), metrics=shares, reason=f"{int(sum(every))} of {len(every)} votes are for a right answer")


def plain(answer: Any) -> str:
    """An answer as it is compared."""
    return str(answer).strip().lower()


def invalid(reason: str) -> EvaluateResult:
    """That there is no score."""
    return EvaluateResult(is_score_valid=False, reason=reason)
