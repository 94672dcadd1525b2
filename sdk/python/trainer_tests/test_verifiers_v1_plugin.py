"""Tasksets of verifiers 0.4, as published, as environments of Merit: as slots, and played by `merit rollout`."""

import shutil
from pathlib import Path

import pytest
import rollouts
from merit_plugin import Fault, Faults, verifiers_v1
from merit_plugin.turn import Turn

TASKSETS = Path(__file__).parent / "tasksets"


@pytest.fixture(autouse=True)
def importable(monkeypatch):
    """verifiers finds a taskset as an installed module."""
    monkeypatch.syspath_prepend(str(TASKSETS))


def reset(slot, seed):
    turn = Turn()
    slot.reset(seed, turn)
    return turn


def step(slot, action):
    turn = Turn()
    slot.step(action, turn)
    return turn


def test_one_turn():
    """Promise: a task is chosen by the seed, and the reward is the sum of the task's weighted rewards, which are metrics too."""
    slot = verifiers_v1.wrapping("chat-sums")(None, "train")
    assert (slot.tasks, slot.system) == (16, "Answer with a number.")
    for seed, answer, want in ((3, "6", 2.0), (3, "7", 0.0), (19, "6", 2.0)):
        asked = reset(slot, seed)
        assert (asked.text, asked.terminated) == ("3 + 3?", False)
        ended = step(slot, answer)
        assert (ended.reward, ended.terminated, ended.truncated) == (want, True, False)
        assert [e for e in ended._events if e[0] == "metric"] == [("metric", "length", "1.0"), ("metric", "right", str(want))]


def test_many_turns():
    """Promise: an environment that ships with its taskset plays the user; of an infinite taskset the first tasks are played, and no task is in two splits."""
    kind = verifiers_v1.wrapping("chat-guess", tasks=30)
    slots = {split: kind(None, split) for split in ("train", "validation", "test")}
    assert {split: slot.tasks for split, slot in slots.items()} == {"train": 24, "validation": 3, "test": 3}
    seen = [{t.data.idx for t in slot.rows} for slot in slots.values()]
    assert len(set.union(*seen)) == 30 == sum(map(len, seen))
    slot = slots["train"]
    assert reset(slot, 5).text == "Guess number 5."
    assert [step(slot, guess).text for guess in ("1", "6")] == ["higher", "lower"]
    ended = step(slot, "5")
    assert (ended.reward, ended.terminated) == (pytest.approx(1 / 3), True)


def test_a_reset_ends_what_was_played():
    """Promise: a reset in the middle of an episode starts another one, and the old one says nothing more."""
    slot = verifiers_v1.wrapping("chat-guess", tasks=30)(None, "train")
    for seed in (0, 5, 0):
        assert reset(slot, seed).text == f"Guess number {seed}."
    assert step(slot, "0").reward == 1.0
    slot.close()


def test_a_failed_episode_has_no_reward():
    """Promise: what the taskset raises breaks the slot with verifiers' words, and never scores 0."""
    slot = verifiers_v1.wrapping("chat-guess", tasks=30)(None, "train")
    reset(slot, 3)
    with pytest.raises(Fault, match="EnvError.*invalid literal"):
        step(slot, "many")
    assert reset(slot, 4).text == "Guess number 4."


def test_refused_by_name():
    """Promise: a taskset that needs more than a chat is refused with all that it needs."""
    with pytest.raises(Faults) as refused:
        verifiers_v1.wrapping("chat-needy")(None, "train")
    assert [str(f) for f in refused.value.all] == [
        "Needy needs a container for Boxed",
        "Needy needs the container image python:3.12",
        "Needy needs a runtime for Boxed.solved",
    ]
    with pytest.raises(Fault, match="has 2 agents"):
        verifiers_v1.environment("chat-sums", {}, env="user-sim")


def test_merit_rollout(tmp_path):
    """Promise: merit rollout plays the taskset through the protocol of plug-ins, with options of the taskset, and writes its rewards and metrics."""
    shutil.copy(TASKSETS / "chat_sums.py", tmp_path)
    plugin = (
        "from dataclasses import dataclass\nimport merit_plugin.verifiers_v1\n\n@dataclass\nclass Options:\n    count: int = 20\n\n"
        'merit_plugin.verifiers_v1.serve("chat-sums", options=Options)\n'
    )
    done, episodes = rollouts.rollout(tmp_path, plugin, lambda body: str(2 * int(body["messages"][-1]["content"].split()[0])), "{count: 40}")
    assert done.returncode == 0, done.stderr
    assert [e["outcome"] for e in episodes] == ["scored"] * 4
    assert all(e["messages"][0]["content"] == "Answer with a number." and e["evaluation"]["score"] == 2.0 for e in episodes)
    assert all(e["env_metrics"]["right"] == 2.0 for e in episodes)


def test_merit_rollout_says_what_is_refused(tmp_path):
    """Promise: Merit names what the taskset needs, and what to do instead."""
    shutil.copy(TASKSETS / "chat_needy.py", tmp_path)
    done, episodes = rollouts.rollout(tmp_path, 'import merit_plugin.verifiers_v1\n\nmerit_plugin.verifiers_v1.serve("chat-needy")\n', lambda body: "4")
    assert done.returncode != 0 and not episodes
    assert "Needy needs the container image python:3.12" in done.stderr and "verifiers' eval" in done.stderr
