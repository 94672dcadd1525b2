"""Environments of verifiers 0.1.10, as published, as environments of Merit: slots that are reset and stepped."""

import json

import rollouts
import verifiers as vf
from datasets import Dataset
from merit_plugin import verifiers
from merit_plugin.turn import Turn

ROWS = [{"question": f"{i} + {i}?", "answer": str(2 * i)} for i in range(20)]


def single():
    async def right(completion, answer, **_):
        return float(completion[-1]["content"].strip() == answer)

    async def length(completion, **_):
        return len(completion[-1]["content"])

    rubric = vf.Rubric(funcs=[right, length], weights=[1.0, 0.0])
    return vf.SingleTurnEnv(dataset=Dataset.from_list(ROWS), rubric=rubric, system_prompt="Answer with a number.")


def tools():
    async def double(n: int) -> int:
        """Doubles a number.

        Args:
            n: the number
        """
        return 2 * n

    async def used(state, **_):
        return float(len(state["trajectory"]) == 2)

    return vf.ToolEnv(tools=[double], max_turns=3, dataset=Dataset.from_list(ROWS), eval_dataset=Dataset.from_list(ROWS[:4]), rubric=vf.Rubric(funcs=[used]))


def test_single_turn():
    """Promise: a row is a task, chosen by the seed; the rubric's reward and metrics are those of the last step."""
    slot = verifiers.wrapping(single)(None, "train")
    assert (slot.tasks, slot.system, slot.tools) == (16, "Answer with a number.", ())
    for seed, answer, want in ((3, "6", 1.0), (3, "7", 0.0), (19, "6", 1.0)):
        turn = Turn()
        slot.reset(seed, turn)
        assert turn.text == "3 + 3?" and not turn.terminated
        turn = Turn()
        slot.step(answer, turn)
        assert (turn.reward, turn.terminated) == (want, True)
        assert [e[:2] for e in turn._events] == [("metric", "right"), ("metric", "length"), ("metric", "num_turns")]


def test_splits():
    """Promise: no row is in two splits."""
    seen = [{r["prompt"][-1]["content"] for r in verifiers.rows(single(), split)} for split in ("train", "validation", "test")]
    assert [len(s) for s in seen] == [16, 2, 2] and not seen[0] & seen[1] and not seen[0] & seen[2] and not seen[1] & seen[2]


def test_tools():
    """Promise: tools are offered, a list of tool calls is played, and what the tool answers is a tool's result."""
    slot = verifiers.wrapping(tools)(None, "test")
    assert [t["function"]["name"] for t in slot.tools] == ["double"] and slot.tasks == 2
    turn = Turn()
    slot.reset(1, turn)
    assert "3 + 3" in turn.text
    turn = Turn()
    slot.step(json.dumps([{"id": "a", "type": "function", "function": {"name": "double", "arguments": '{"n": 3}'}}]), turn)
    assert "6" in str(turn.anchor) and not turn.terminated
    turn = Turn()
    slot.step("6", turn)
    assert (turn.reward, turn.terminated) == (1.0, True)


def test_a_reset_ends_what_was_played():
    """Promise: a reset in the middle of an episode starts another one, and the old one says nothing more."""
    slot = verifiers.wrapping(tools)(None, "train")
    for seed in (0, 5, 0):
        turn = Turn()
        slot.reset(seed, turn)
        assert f"{seed} + {seed}?" in turn.text
    slot.close()


def test_merit_rollout(tmp_path):
    """Promise: merit rollout plays the environment through the protocol of plug-ins, tool calls and their results included."""
    plugin = """
import merit_plugin.verifiers
import verifiers as vf
from datasets import Dataset


def load():
    async def double(n: int) -> int:
        '''Doubles a number.

        Args:
            n: the number
        '''
        return 2 * n

    async def right(completion, answer, **_):
        return float(completion[-1]["content"] == answer)

    rows = Dataset.from_list([{"question": f"{i} + {i}?", "answer": str(2 * i)} for i in range(20)])
    return vf.ToolEnv(tools=[double], max_turns=3, dataset=rows, rubric=vf.Rubric(funcs=[right]))


merit_plugin.verifiers.serve(load, name="sums")
"""

    def say(body):
        assert [t["function"]["name"] for t in body["tools"]] == ["double"]
        results = [m["content"] for m in body["messages"] if m["role"] == "tool"]
        if results:
            return results[-1]
        n = int(body["messages"][-1]["content"].split()[0])
        return [{"id": "a", "type": "function", "function": {"name": "double", "arguments": json.dumps({"n": n})}}]

    done, episodes = rollouts.rollout(tmp_path, plugin, say, action="{parse: chat}")
    assert done.returncode == 0, done.stderr
    assert [(e["outcome"], e["evaluation"]["score"], len(e["steps"])) for e in episodes] == [("scored", 1.0, 2)] * 4
