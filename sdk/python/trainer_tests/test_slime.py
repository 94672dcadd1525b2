"""slime's --custom-rm-path with a Merit reward.

slime publishes no package, so its two callers and the fields of its Sample that they touch are
restated here from slime/rollout/rm_hub/__init__.py and slime/utils/types.py of August 2026. With
SLIME_SOURCE, the folder of a checkout, the same tests run slime's own code.
"""

import argparse
import asyncio
import enum
import importlib
import os
import sys
from dataclasses import dataclass, field

import pytest

from merit_rl import Halt
from merit_rl.slime import function


class Restated:
    """What slime does with a sample and a reward function."""

    @dataclass
    class Sample:
        class Status(enum.Enum):
            COMPLETED = "completed"
            TRUNCATED = "truncated"

        group_index: "int | None" = None
        index: "int | None" = None
        prompt: "str | list" = ""
        response: str = ""
        label: "str | None" = None
        reward: "float | dict | None" = None
        remove_sample: bool = False
        metadata: dict = field(default_factory=dict)
        custom_rm_path: "str | None" = None
        status: Status = Status.COMPLETED

    @staticmethod
    def load_function(path):
        module, _, name = path.rpartition(".")
        return getattr(importlib.import_module(module), name)

    @classmethod
    async def async_rm(cls, args, sample, **more):
        path = sample.custom_rm_path or args.custom_rm_path
        return await cls.load_function(path)(args, sample, **more)

    @classmethod
    async def batched_async_rm(cls, args, samples, **more):
        return await cls.load_function(args.custom_rm_path)(args, samples, **more)


def own():
    source = os.environ.get("SLIME_SOURCE")
    if not source:
        return Restated
    sys.path.insert(0, source)
    hub = importlib.import_module("slime.rollout.rm_hub")
    hub.Sample = importlib.import_module("slime.utils.types").Sample
    return hub


slime = own()
ARGS = argparse.Namespace(custom_rm_path="slime_reward.custom_rm", rm_type=None, group_rm=False)

# The rank of an answer among its group, longest first: it compares.
LONGEST = """
from merit_reward import EvaluateResult, reward_function

@reward_function(mode="batch")
def longest(rollouts_messages, **kwargs):
    lengths = [len(m[-1].text) for m in rollouts_messages]
    return [EvaluateResult(score=float(n == max(lengths))) for n in lengths]
"""


@pytest.fixture(autouse=True)
def importable(monkeypatch):
    monkeypatch.syspath_prepend(".")  # the examples, as slime imports modules


def sample(response, label, **more):
    prompt = [{"role": "user", "content": "2 + 2?"}]
    return slime.Sample(prompt=prompt, response=response, label=label, status=slime.Sample.Status.COMPLETED, **more)


def test_example():
    """Promise: the file of the docs, named by --custom-rm-path, scores a sample and a batch of samples."""
    assert asyncio.run(slime.async_rm(ARGS, sample("It is 4", "4"))) == 1.0
    assert asyncio.run(slime.async_rm(ARGS, sample("It is 5", "4"))) == 0.0
    batch = [sample("4", "4", index=0), sample("5", "4", index=1), sample("2 or 4", "4", index=2)]
    assert asyncio.run(slime.batched_async_rm(ARGS, batch)) == [1.0, 0.0, 1.0]
    assert not any(s.remove_sample for s in batch)


def test_prompt_as_text_and_metadata(rewards):
    """Promise: prompts may be text; metadata, label and status reach the reward by name."""
    seen = rewards("def score(messages, ground_truth, level, status, **kw):\n    return level + len(messages) / 10 + (status == 'truncated')")
    one = slime.Sample(prompt="2 + 2?", response="4", label="4", metadata={"level": 3}, status=slime.Sample.Status.TRUNCATED)
    assert asyncio.run(function(seen)(ARGS, one)) == 4.2


def test_no_score():
    """Promise: without a score slime's step stops, or has the number that was chosen, and the sample leaves the loss; never 0."""
    with pytest.raises(Halt, match="no ground truth"):
        asyncio.run(slime.async_rm(ARGS, sample("4", None)))
    chosen, samples = function("reward.py", on_unscored=-1.0), [sample("4", None), sample("4", "4")]
    assert asyncio.run(chosen(ARGS, samples)) == [-1.0, 1.0]
    assert [s.remove_sample for s in samples] == [True, False]


def test_rewards_that_compare(rewards):
    """Promise: with --group-rm a reward that compares sees each group; without it, it is refused."""
    longest = function(rewards(LONGEST))
    samples = [sample(text, "", group_index=g, index=i) for i, (g, text) in enumerate([(0, "aa"), (0, "a"), (1, "a"), (1, "aaa")])]
    assert asyncio.run(longest(ARGS, samples)) == [1.0, 0.0, 0.0, 1.0]
    with pytest.raises(Halt, match="it compares the members of a group, and slime gives it no group"):
        asyncio.run(longest(ARGS, samples[0]))
