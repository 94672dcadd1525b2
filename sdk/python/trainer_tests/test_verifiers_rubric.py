"""verifiers 0.1, as published, with a Merit reward in its Rubric."""

import asyncio
import math

import httpx
import pytest
import verifiers as vf
from datasets import Dataset
from openai import AsyncOpenAI

from merit_rl import OUTCOMES, Halt, Reward
from merit_rl.results import CAUSES, result
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


AWAY = {"server": "unix:/nowhere/merit.sock", "patience": 0.5, "timeout": 0.5}


def test_a_server_that_is_away_is_not_zero():
    """Promise: nor is the score 0 because nobody could be asked for it: verifiers has an error that it retries, and NaN or the number chosen."""
    for chosen, want in (("raise", math.nan), (-1.0, -1.0)):
        rubric = vf.Rubric(funcs=[rubric_reward("reward.py", on_unscored=chosen, **AWAY)], weights=[1.0])
        one, group = state("4"), [state("4"), state("5")]
        asyncio.run(rubric.score_rollout(one))
        asyncio.run(rubric.score_group(group))
        for s in (one, *group):
            assert s["reward"] == pytest.approx(want, nan_ok=True)
            assert isinstance(s["error"], vf.SandboxError) and "merit.sock" in str(s["error"])


def test_a_rollout_is_tried_again():
    """Promise: with max_retries, verifiers plays the rollout again after a failure of Merit's infrastructure, and only then."""
    reward, asked = Unlucky(), []

    def answer(request):
        asked.append(None)
        choice = {"index": 0, "message": {"role": "assistant", "content": "4"}, "finish_reason": "stop", "logprobs": None}
        return httpx.Response(200, json={"id": "x", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice]})

    client = AsyncOpenAI(api_key="x", base_url="http://model/v1", http_client=httpx.AsyncClient(transport=httpx.MockTransport(answer)))
    env = vf.SingleTurnEnv(dataset=Dataset.from_list([{"question": "2 + 2?", "answer": "4"}]), rubric=vf.Rubric(funcs=[rubric_reward(reward)]))
    [found] = asyncio.run(env.evaluate(client, "m", num_examples=1, rollouts_per_example=1, max_retries=2))["outputs"]
    assert (found["reward"], found["error"], len(asked)) == (1.0, None, 2)


class Unlucky:
    """A reward whose first evaluation the infrastructure lost."""

    compares, __name__, evaluations = False, "unlucky", 0

    def evaluate(self, rows):
        self.evaluations += 1
        outcome = "timeout" if self.evaluations == 1 else "scored"
        return [result({"id": r["id"], "outcome": outcome, "score": 1.0, "reason": "as the test asked for"}) for r in rows]


@pytest.mark.parametrize("outcome", [o for o in OUTCOMES if o != "scored"])
def test_every_outcome_without_a_score(outcome):
    """Promise: no outcome without a score is 0: what the infrastructure lost is an error that verifiers retries, and all else stops."""
    reward = Unlucky()
    reward.evaluate = lambda rows: [result({"id": "a", "outcome": outcome, "reason": "why"})]
    rubric, one = vf.Rubric(funcs=[rubric_reward(reward)]), state("4")
    if CAUSES[outcome] != "infrastructure":
        with pytest.raises(Halt, match=f"{outcome}: why"):
            asyncio.run(rubric.score_rollout(one))
    else:
        asyncio.run(rubric.score_rollout(one))
        assert math.isnan(one["reward"]) and f"{outcome}: why" in str(one["error"])
