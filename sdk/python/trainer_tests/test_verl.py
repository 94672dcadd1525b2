"""verl 0.9, as published, with Merit rewards: its own loader, its own reward managers, its own compute_advantage."""

import asyncio

import numpy as np
import pytest
import torch
from omegaconf import OmegaConf
from tensordict import TensorDict
from verl import DataProto
from verl.trainer.ppo.reward import get_custom_reward_fn, load_reward_manager
from verl.workers.reward_manager import BatchRewardManager

from merit_rl import Halt

# What merit_rl.verl hands on, and a way to fail.
SHOWN = """
from merit_reward import EvaluateResult

def score(messages, ground_truth=None, data_source="", extra_info=None, **kwargs):
    if messages[-1].text.endswith("?"):
        return EvaluateResult(is_score_valid=False, reason="a question")
    roles = [m.role for m in messages]
    told = (roles, data_source, extra_info["split"]) == (["user", "assistant"], "sums", "test")
    return float(told) * (1.0 if messages[-1].text.split() == list(ground_truth) else 0.5)
"""


def configured(path, name="compute_score", manager="naive", **reward_kwargs):
    return OmegaConf.create(
        {
            "reward": {
                "custom_reward_function": {
                    "path": "pkg://merit_rl.verl",
                    "name": name,
                    "reward_kwargs": {"reward": path, **reward_kwargs},
                },
                "reward_manager": {"source": "register", "name": manager, "module": None},
                "timeout": 60,
                "max_concurrent": 8,
            }
        }
    )


def batch(tokenizer, *answers, truth="42"):
    """Rows as verl's agent loop makes them: prompt padded on the left, answer on the right."""
    ids = [tokenizer(a)["input_ids"] for a in answers]
    width = max(map(len, ids)) + 1
    responses = torch.tensor([i + [0] * (width - len(i)) for i in ids])
    mask = torch.tensor([[1, 1] + [1] * len(i) + [0] * (width - len(i)) for i in ids])
    n = len(answers)
    return DataProto(
        batch=TensorDict(
            {"prompts": torch.full((n, 2), 5), "responses": responses, "attention_mask": mask}, batch_size=n
        ),
        non_tensor_batch={
            "data_source": np.array(["sums"] * n, dtype=object),
            "reward_model": np.array([{"ground_truth": truth, "style": "rule"} for _ in range(n)], dtype=object),
            "extra_info": np.array(
                [{"split": "test", "prompt": "6 * 7 = ", "index": np.int64(i)} for i in range(n)], dtype=object
            ),
            "uid": np.array(["p"] * n, dtype=object),
        },
    )


def single(manager, data):
    async def run():
        manager.loop = asyncio.get_running_loop()
        return await asyncio.gather(*(manager.run_single(data[i : i + 1]) for i in range(len(data))))

    return asyncio.run(run())


@pytest.mark.parametrize("manager", ["naive", "dapo", "rate_limited"])
@pytest.mark.parametrize("name", ["compute_score", "compute_score_async"])
def test_reward_loop(name, manager, tokenizer, rewards):
    """Promise: verl's reward loop, with each of its managers for rules, calls a Merit reward, sync and async."""
    config = configured(rewards(SHOWN), name, manager)
    got = single(load_reward_manager(config, tokenizer), batch(tokenizer, "4", "3", truth="4"))
    assert [g["reward_score"] for g in got] == [1.0, 0.5]
    assert [g["reward_extra_info"]["unscored"] for g in got] == [0.0, 0.0]


@pytest.mark.parametrize("manager", ["naive", "rate_limited"])
@pytest.mark.parametrize("name", ["compute_score", "compute_score_async"])
def test_no_score_is_not_zero(name, manager, tokenizer, rewards):
    """Promise: an answer without a score ends verl's step, in rate_limited too, which takes exceptions for 0; or it
    is the number that the operator chose, and counted."""
    path, data = rewards(SHOWN), batch(tokenizer, "42", "42?")
    with pytest.raises(Halt, match="a question"):
        single(load_reward_manager(configured(path, name, manager), tokenizer), data)
    got = single(load_reward_manager(configured(path, name, manager, on_unscored=-1), tokenizer), data)
    assert [g["reward_score"] for g in got] == [1.0, -1.0]
    assert [g["reward_extra_info"]["unscored"] for g in got] == [0.0, 1.0]


def test_batch_manager(tokenizer, rewards):
    """Promise: BatchRewardManager hands all answers over in one call."""
    fn = get_custom_reward_fn(configured(rewards(SHOWN), "compute_score_batch", on_unscored=-1))
    said = BatchRewardManager(tokenizer, 0, fn)(batch(tokenizer, "42", "41", "42?"), return_dict=True)
    assert said["reward_tensor"].sum(dim=1).tolist() == [1.0, 0.5, -1.0]
    assert said["reward_extra_info"]["unscored"] == [0.0, 0.0, 1.0]
    with pytest.raises(Halt, match="a question"):
        BatchRewardManager(tokenizer, 0, get_custom_reward_fn(configured(rewards(SHOWN), "compute_score_batch")))(
            batch(tokenizer, "42?")
        )


def test_example(example, tokenizer):
    """Promise: the configuration of the docs, merged into verl's own, is a reward that verl finds and calls."""
    from hydra import compose, initialize_config_module

    with initialize_config_module("verl.trainer.config", version_base=None):
        config = compose("ppo_trainer")
    OmegaConf.set_struct(config, False)
    config = OmegaConf.merge(config, OmegaConf.load("verl.yaml"))
    manager = load_reward_manager(config, tokenizer)
    got = single(manager, batch(tokenizer, "4", "3", truth="4")) + single(manager, batch(tokenizer, "4", truth=None))
    assert [g["reward_score"] for g in got] == [1.0, 0.0, -1.0]


def test_what_may_stand_for_no_score(rewards):
    """Promise: NaN, infinity and words do not stand for a missing score, and to say so is no score either."""
    for wrong in ("zero", "nan", float("inf"), None, True):
        fn = get_custom_reward_fn(configured(rewards(SHOWN), on_unscored=wrong))
        with pytest.raises(Halt, match="finite number"):
            fn(data_source="sums", solution_str="42", ground_truth="42", extra_info={})
