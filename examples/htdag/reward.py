"""The reward of htdag in Python: success, efficiency and depth in range, read from the last message of an episode.

Parameters, by ``--with`` or ``with:``: the weights ``success`` (1), ``efficiency`` (0.3) and ``depth`` (0.2), and the range
``shallowest`` (2) to ``deepest`` (4). With these it gives what the environment itself gives.
"""

from __future__ import annotations

import re

from merit_reward import EvaluateResult, Message, MetricResult, reward_function

__merit__ = {"name": "htdag"}

REPORT = re.compile(
    r"The plan was executed\.\nresult: (?P<result>success|failure)\ndepth: (?P<depth>\d+)\nsubtasks: \d+\n"
    r"execution time: (?P<time>\d+\.\d\d), of the right plan (?P<right_time>\d+\.\d\d)\n"
    r"calls: (?P<calls>\d+), of the right plan (?P<right_calls>\d+)\n"
)


@reward_function
def score(
    messages: list[Message],
    success: float = 1.0,
    efficiency: float = 0.3,
    depth: float = 0.2,
    shallowest: int = 2,
    deepest: int = 4,
    **_: object,
) -> EvaluateResult:
    found = REPORT.search(messages[-1].content or "") if messages else None
    if found is None:
        raise ValueError("the last message does not say what came of a plan: the episode was cut")
    well = found["result"] == "success"
    terms = {
        "success": float(well),
        "efficiency": (share(found, "time") + share(found, "calls")) / 2 if well else 0.0,
        "depth": float(shallowest <= int(found["depth"]) <= deepest),
    }
    weights = {"success": success, "efficiency": efficiency, "depth": depth}
    return EvaluateResult(
        score=sum(weights[name] * term for name, term in terms.items()),
        metrics={name: MetricResult(score=term) for name, term in terms.items()},
    )


def share(found: re.Match[str], what: str) -> float:
    """How close this plan comes to the right one; decimals are taken out, so that the division is that of whole numbers."""
    here, right = (int(found[name].replace(".", "")) for name in (what, f"right_{what}"))
    return min(1.0, right / here)
