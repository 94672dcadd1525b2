"""Is the last number of the answer the one that the data set gives?"""

from __future__ import annotations

import re

from merit_reward import EvaluateResult, Message, reward_function


@reward_function
def reward(messages: list[Message], ground_truth: str, level: str = "", **columns: object) -> EvaluateResult:
    """1 if it is, else 0; the metric after the column `level` counts the same."""
    said = re.findall(r"-?\d+", messages[-1].text.replace(",", ""))
    score = float(said[-1:] == [ground_truth])
    return EvaluateResult(score=score, metrics={level: score} if level else {})
