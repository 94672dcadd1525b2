"""verifiers 0.1, as published, with a Merit reward in its Rubric."""

import asyncio

import pytest
import verifiers as vf

from merit_rl import Halt, Reward
from merit_rl.verifiers import rubric_reward


def state(answer, completion="It is 4"):
    messages = [{"role": "user", "content": "2 + 2?"}]
    return vf.State(
        prompt=messages,
        completion=[{"role": "assistant", "content": completion}],
        answer=answer,
        task="sums",
        info={"level": 1},
        trajectory=[],
        timing={"scoring_ms": 0.0, "total_ms": 0.0},
    )


def test_example(example):
    """Promise: the rubric of the docs scores rollouts, alone and in groups, in verifiers' own classes."""
    rubric = example("verifiers_rubric").rubric
    one, group = state("4"), [state("4"), state("5"), state("6")]
    asyncio.run(rubric.score_rollout(one))
    asyncio.run(rubric.score_group(group))
    assert (one["reward"], one["metrics"]) == (1.0, {"merit": 1.0})
    assert [s["reward"] for s in group] == [1.0, 0.0, 0.0]


def test_no_score_is_not_zero():
    """Promise: the rubric, which takes every exception for the score 0, does not do so here."""
    rubric = vf.Rubric(funcs=[rubric_reward(Reward("reward.py"))], weights=[1.0])
    with pytest.raises(Halt, match="no ground truth"):
        asyncio.run(rubric.score_rollout(state("")))


def test_a_server_that_is_away_is_not_zero():
    """Promise: nor is the score 0 because nobody could be asked for it."""
    rubric = vf.Rubric(funcs=[rubric_reward("reward.py", server="unix:/nowhere/merit.sock", patience=0.5, timeout=0.5)])
    with pytest.raises(Halt, match="merit.sock"):
        asyncio.run(rubric.score_rollout(state("4")))
