"""Is the answer right, and was the order looked up?"""

from __future__ import annotations

import re

from merit_reward import EvaluateResult, Message, reward_function


@reward_function
def reward(messages: list[Message], ground_truth: str) -> EvaluateResult:
    """1 for a right answer after a look at the order, 0.2 for a guess that is right, else 0."""
    answers = [m.text.lower() for m in messages if m.role == "assistant"]
    words = re.findall(r"[a-z]+", answers[-1])
    right = words[-1:] == [ground_truth]
    asked = [number for m in messages if m.role == "user" for number in re.findall(r"order (\d+)", m.text)]
    looked = any(m.role == "tool" and f"order {asked[0]}:" in m.text for m in messages if asked)
    score = (1.0 if looked else 0.2) if right else 0.0
    return EvaluateResult(score=score, metrics={"right": float(right), "looked": float(looked)})
