"""verifiers 0.4, as published, with Merit's environments as its taskset; only the agent is scripted."""

import asyncio
from types import SimpleNamespace

import pytest
import verifiers.v1 as vf
from verifiers.v1.utils.loaders import taskset_class

from merit_rl.verifiers_v1 import MeritConfig, MeritEnv


class Interaction:
    """What an agent of verifiers gives to an environment's run."""

    def __init__(self, say):
        self.say, self.heard, self.trace, self.rewards = say, [], self, {}

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        return None

    async def turn(self, text):
        self.heard.append(text)
        return SimpleNamespace(terminated=len(self.heard) > 20, last_reply=self.say(len(self.heard)))

    def record_reward(self, name, value):
        self.rewards[name] = value


def played(task, say):
    interaction = Interaction(say)
    env = MeritEnv.__new__(MeritEnv)
    asyncio.run(env.run(task, SimpleNamespace(player=SimpleNamespace(interaction=lambda task: interaction))))
    return interaction


def test_taskset(monkeypatch):
    """Promise: the file of the docs is a taskset that verifiers finds by its name, with a task for each seed, in the same order and with the same keys."""
    monkeypatch.syspath_prepend(".")
    taskset = taskset_class("merit-environment")(MeritConfig(id="merit-environment", environment="frozenlake", tasks=4, first=2))
    tasks = list(taskset)
    assert [t.data.seed for t in tasks] == [2, 3, 4, 5] and tasks[0].data.idx == 0
    assert isinstance(tasks[0], vf.Task)
    assert [t.data.seed for t in taskset.take(2)] == [2, 3]


def test_run():
    """Promise: an episode is played to its end, a refused action is answered, and the sum of its rewards is recorded."""
    tasks = list(taskset_of("frozenlake"))
    first, again = (played(tasks[0], lambda n: "fly" if n == 1 else "right") for _ in range(2))
    assert first.heard == again.heard and first.rewards == again.rewards
    assert "is not an action" in first.heard[1]
    assert list(first.rewards) == ["environment"] and first.rewards["environment"] is not None


def test_a_failed_environment_has_no_reward():
    """Promise: where the environment fails, the run raises verifiers' SandboxError, which it retries, and there is no reward."""
    config = MeritConfig(id="x", url="http://127.0.0.1:9", tasks=1)
    [task] = taskset_class_of(config)
    with pytest.raises(vf.SandboxError, match="environment's server has failed"):
        played(task, lambda n: "left")


def taskset_of(environment):
    return taskset_class_of(MeritConfig(id="x", environment=environment, tasks=2))


def taskset_class_of(config):
    from merit_rl.verifiers_v1 import MeritTaskset

    return list(MeritTaskset(config))
