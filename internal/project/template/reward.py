"""The reward of this project: what an episode of Sokoban is worth.

Change it, then run `merit reward test .` and read which results changed.
"""

from merit_reward import EvaluateResult, reward_function

__merit__ = {
    "name": "solved",
    "version": "0.1.0",
    "description": "1 for a solved puzzle, less 0.01 for each move; 0 for an unsolved one",
    "step_index": "assistant",
}


@reward_function
def score(messages, **kwargs):
    """Looks at the last board that the environment showed."""
    boards = [m.text for m in messages if m["role"] == "user"]
    moves = sum(m["role"] == "assistant" for m in messages)
    if not boards or moves == 0:
        return EvaluateResult(is_score_valid=False, reason="nothing was played")
    solved = "$" not in boards[-1] and "*" in boards[-1]  # $ is a box, * a box on a target
    return EvaluateResult(
        score=max(1.0 - 0.01 * moves, 0.1) if solved else 0.0,
        metrics={"solved": float(solved), "moves": float(moves)},
    )
