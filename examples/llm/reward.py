"""Scores a walk on the grid: 1 if the walker arrived, else 0.

It reads what the environment said last, as a person would. Nothing is given
for moves that are legal, or nearly right: a bonus for those teaches a small
model to collect the bonus.
"""

from merit_reward import EvaluateResult, reward_function

ARRIVED = "You are at the goal."


@reward_function
def arrived(messages, **kwargs):
    if messages[-1].role != "user":
        return EvaluateResult(is_score_valid=False, reason="the conversation ends before the environment answered")
    return EvaluateResult(score=float(messages[-1].content == ARRIVED))
