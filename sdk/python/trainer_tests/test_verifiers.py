"""verifiers 0.4, as published, with a Merit reward plugged into a task by its configuration."""

import asyncio

import pytest
import verifiers.v1 as vf
from verifiers.v1.errors import TaskError
from verifiers.v1.graph import MessageNode
from verifiers.v1.trace import AgentInfo, TraceTask
from verifiers.v1.types import AssistantMessage, UserMessage


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
