"""Merit's estimators in SkyRL 0.4. SkyRL needs ray 2.57 and vLLM, so its registry and the calls of its trainer are
restated here, with their signatures of skyrl 0.4.0 (backends/skyrl_train/utils/ppo_utils.py, train/trainer.py)."""

import sys
import types
from types import SimpleNamespace

import pytest
import torch

from merit_rl import skyrl

GO, LEFT, RIGHT = [3, 4], [7, 7], [8, 8]


class Registry:
    """AdvantageEstimatorRegistry without Ray."""

    functions = {"grpo": None}

    @classmethod
    def register(cls, name, func):
        if name in cls.functions:
            raise ValueError(f"advantage estimator '{name}' already registered")
        cls.functions[name] = func


def compute_advantages_and_returns(
    token_level_rewards,
    response_mask,
    index,
    adv_estimator,
    config,
    values=None,
    grpo_norm_by_std=True,
    gamma=1.0,
    lambd=1.0,
    **kwargs,
):
    return Registry.functions[adv_estimator](
        token_level_rewards=token_level_rewards,
        response_mask=response_mask,
        index=index,
        values=values,
        grpo_norm_by_std=grpo_norm_by_std,
        gamma=gamma,
        lambd=lambd,
        config=config,
        **kwargs,
    )


class Batch(dict):
    """TrainingInputBatch: tensors by name, and metadata."""

    def __init__(self, metadata, **tensors):
        super().__init__(tensors)
        self.metadata = metadata


class Trainer:
    """What RayPPOTrainer.compute_advantages_and_returns does with a batch of either kind."""

    def __init__(self, estimator, gamma=1.0):
        self.algorithm = SimpleNamespace(advantage_estimator=estimator, gamma=gamma, lambd=1.0, grpo_norm_by_std=True)

    def compute_advantages_and_returns(self, data):
        rewards, mask, uids = data["rewards"], data["response_mask"], data.metadata["uids"]
        if "is_last_step" in data.metadata:
            last = torch.tensor(data.metadata["is_last_step"])
            rewards, mask = rewards[last], torch.ones_like(mask[last], dtype=torch.float)
            uids = [u for u, end in zip(uids, data.metadata["is_last_step"]) if end]
        return compute_advantages_and_returns(
            token_level_rewards=rewards,
            response_mask=mask,
            index=uids,
            adv_estimator=self.algorithm.advantage_estimator,
            config=self.algorithm,
            values=None,
            gamma=self.algorithm.gamma,
            lambd=self.algorithm.lambd,
            grpo_norm_by_std=self.algorithm.grpo_norm_by_std,
        )


def episodes(scores, rooms, **metadata):
    """Episodes of two turns, right-aligned as SkyRL has them: one token of padding, two of the model, two of the
    environment, two of the model. The response mask has the environment's tokens as well."""
    n = len(scores)
    rewards = torch.zeros(n, 7)
    rewards[:, 6] = torch.tensor(scores)
    return Batch(
        {"uids": ["p"] * n, **metadata},
        rewards=rewards,
        response_mask=torch.tensor([[0, 1, 1, 1, 1, 1, 1]] * n),
        loss_mask=torch.tensor([[0.0, 1, 1, 0, 0, 1, 1]] * n),
        sequences=torch.tensor([[0, 2, *GO, *room, 5, 6] for room in rooms]),
    )


@pytest.fixture(autouse=True)
def registry(monkeypatch):
    """Makes the registry that SkyRL would have."""
    module = types.ModuleType("skyrl.backends.skyrl_train.utils.ppo_utils")
    module.AdvantageEstimatorRegistry = Registry
    parts = module.__name__.split(".")
    for i in range(1, len(parts)):
        monkeypatch.setitem(sys.modules, ".".join(parts[:i]), types.ModuleType(".".join(parts[:i])))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(Registry, "functions", {"grpo": None})


def test_each_turn_has_its_credit(example):
    """Promise: with the example of the docs each turn has GiGPO's advantage on the tokens of the loss mask and nowhere
    else, with SkyRL's gamma; the state is what the environment said before."""
    example("skyrl_estimator")
    data = episodes([1.0, 0.0, 0.0, 1.0], [LEFT, LEFT, LEFT, RIGHT])
    advantages, returns = Trainer("gigpo", gamma=0.95).compute_advantages_and_returns(data)
    # by hand, as in test_trl_gigpo, with half of the step advantages
    entrance, rooms = [0.7375, -0.7375, -0.7375, 0.7375], [0.5 + 1 / 3, -0.5 - 1 / 6, -0.5 - 1 / 6, 0.5]
    for i in range(4):
        want = [0, entrance[i], entrance[i], 0, 0, rooms[i], rooms[i]]
        assert advantages[i].tolist() == pytest.approx(want, abs=1e-5)
    assert returns[0].tolist() == pytest.approx([0, 0.95, 0.95, 0, 0, 1, 1], abs=1e-5)


def test_columns_of_the_metadata():
    """Promise: what a subclass of the trainer puts into the metadata reaches the estimators that need it."""
    skyrl.register("rae")
    skyrl.register("merit_remax", estimator="remax")
    skyrl.register("gdpo", gamma=1.0)
    rooms, scores = [LEFT] * 2, [1.0, 0.0]
    run = lambda name, **m: Trainer(name).compute_advantages_and_returns(episodes(scores, rooms, **m))[0]  # noqa: E731
    assert run("rae", roles=[["buyer", "seller"]] * 2)[:, 5].tolist() == [1, -1]
    assert run("merit_remax", greedy_score=[0.25] * 2)[:, 1].tolist() == [0.75, -0.25]
    parts = [{"right": x, "brief": {"score": 1.0 - x, "weight": 0.5}} for x in scores]
    assert run("gdpo", parts=parts)[:, 1].tolist() == pytest.approx([0.5**0.5, -(0.5**0.5)], abs=1e-4)
    for name, lack in (("rae", "no role"), ("merit_remax", "give greedy_score"), ("gdpo", "give rewards")):
        with pytest.raises(Exception, match=lack):
            run(name)


def test_rows_that_take_no_part():
    """Promise: a row without a score, or whose loss mask SkyRL cleared, moves no baseline and has no advantage."""
    skyrl.register("gigpo")
    whole = episodes([1.0, 0.0, 9.0, 1.0, 9.0], [LEFT] * 5, unscored=[False, False, True, False, False])
    whole["loss_mask"][4] = 0
    rest = episodes([1.0, 0.0, 1.0], [LEFT] * 3)
    got, _ = Trainer("gigpo").compute_advantages_and_returns(whole)
    want, _ = Trainer("gigpo").compute_advantages_and_returns(rest)
    assert torch.allclose(got[[0, 1, 3]], want, atol=1e-6) and torch.all(got[[2, 4]] == 0)


def test_what_cannot_be_told_is_an_error():
    """Promise: where SkyRL keeps steps to itself, or has no batch at hand, nothing is invented; a taken name is
    refused."""
    skyrl.register("gigpo")
    steps = episodes([0.0, 1.0, 0.0, 0.0], [LEFT] * 4, is_last_step=[False, True, False, True])
    with pytest.raises(ValueError, match="2 last steps of the batch's 4.*step_wise_trajectories=false"):
        Trainer("gigpo").compute_advantages_and_returns(steps)
    with pytest.raises(ValueError, match="the caller has no batch"):
        compute_advantages_and_returns(torch.zeros(1, 2), torch.ones(1, 2), ["p"], "gigpo", None)
    with pytest.raises(ValueError, match="'grpo' already registered"):
        skyrl.register("grpo")
