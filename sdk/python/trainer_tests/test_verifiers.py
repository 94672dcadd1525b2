"""verifiers 0.4, as published, with a Merit reward plugged into a task by its configuration."""

import asyncio

import pytest
import verifiers.v1 as vf
from verifiers.v1.errors import TaskError
from verifiers.v1.graph import MessageNode
from verifiers.v1.trace import AgentInfo, TraceTask
from verifiers.v1.types import AssistantMessage, UserMessage

from merit_rl import OUTCOMES
from merit_rl._outcomes import FORMS
from merit_rl.results import result
from merit_rl.verifiers import task_reward


class Sum(vf.TaskData):
    answer: str | None = None


class SumTask(vf.Task[Sum]):
    pass


def played(answer, weight=1.0, said="It is 4"):
    """A task and the trace of a rollout, as verifiers has them when it scores."""
    config = vf.TaskConfig(rewards={"merit": {"fn": "verifiers_reward.py:merit", "weight": weight}})
    task = SumTask(Sum(prompt="2 + 2?", answer=answer), config)
    nodes = [
        MessageNode(message=UserMessage(content="2 + 2?")),
        MessageNode(message=AssistantMessage(content=said), parent=0, sampled=True),
    ]
    trace = vf.Trace(
        task=TraceTask(type="SumTask", data=task.data),
        agent=AgentInfo.model_construct(name="agent"),
        nodes=nodes,
    )
    return task, trace


@pytest.mark.parametrize("answer, want", [("4", 1.0), ("5", 0.0)])
def test_example(answer, want):
    """Promise: the file of the docs, named in TaskConfig, scores a trace, with its weight."""
    task, trace = played(answer, weight=0.5)
    asyncio.run(task.score(trace))
    assert (trace.rewards["merit"].score, trace.rewards["merit"].weight, trace.reward) == (want, 0.5, want / 2)


def test_no_score_is_an_error_of_the_task():
    """Promise: without a score verifiers has an error, and None for the reward, not 0."""
    task, trace = played(None)
    with pytest.raises(TaskError, match="no ground truth"):
        asyncio.run(task.score(trace))
    assert trace.rewards == {"merit": None}


def test_no_score_beside_another_reward(tmp_path):
    """Promise: where one of a task's rewards has no score, verifiers keeps the score of none."""
    (tmp_path / "mine.py").write_text("async def constant(task, trace) -> float:\n    return 1.0\n")
    task, trace = played(None)
    rewards = {**task.config.rewards, "constant": {"fn": f"{tmp_path}/mine.py:constant", "weight": 1.0}}
    task = SumTask(task.data, vf.TaskConfig(rewards=rewards))
    with pytest.raises(TaskError, match="no ground truth"):
        asyncio.run(task.score(trace))
    assert trace.rewards == {"merit": None, "constant": None}


class Failing:
    """A reward all of whose evaluations end in one way."""

    compares, __name__ = False, "failing"

    def __init__(self, outcome):
        self.outcome = outcome

    def evaluate(self, rows):
        return [result({"id": r["id"], "outcome": self.outcome, "reason": "why"}) for r in rows]


@pytest.mark.parametrize("outcome", [o for o in OUTCOMES if o != "scored"])
def test_every_outcome_without_a_score(outcome, monkeypatch):
    """Promise: verifiers records the error that the table of outcomes names, and no reward."""
    task, trace = played("4")
    monkeypatch.setattr(task, "hooks", lambda attr: [named(task_reward(Failing(outcome)))] if attr == "reward" else [])
    with pytest.raises(vf.TaskError if FORMS[outcome].verifiers == "TaskError" else vf.SandboxError, match=f"{outcome}: why") as raised:
        asyncio.run(task.score(trace))
    assert type(raised.value).__name__ == FORMS[outcome].verifiers
    assert trace.rewards == {"merit": None}


def named(reward):
    reward.__name__ = "merit"
    return reward


def test_a_server_that_is_away():
    """Promise: where nobody could be asked, the error is of the infrastructure too."""
    task, trace = played("4")
    reward = task_reward("reward.py", server="unix:/nowhere/merit.sock", patience=0.5, timeout=0.5)
    with pytest.raises(vf.SandboxError, match="merit.sock"):
        asyncio.run(reward(task.data, trace))


def test_only_the_infrastructure_is_retried():
    """Promise: verifiers' own rule for SandboxError retries what the infrastructure lost, and nothing else."""
    from verifiers.v1.configs.retries import RetryConfig, RetryRule
    from verifiers.v1.utils.retries import RetryState

    rule = RetryConfig(rules=[RetryRule(type="SandboxError", max_retries=1)])
    for outcome in FORMS.keys() - {"scored"}:
        task, trace = played("4")
        try:
            asyncio.run(task_reward(Failing(outcome))(task.data, trace))
        except vf.SandboxError as e:
            trace.record_error(e)
        except Exception as e:
            trace.record_error(vf.TaskError(str(e)))
        assert (RetryState(rule).next_error(trace.errors) is not None) == (FORMS[outcome].cause == "infrastructure")
