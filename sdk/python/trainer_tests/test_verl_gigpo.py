"""GiGPO's credit in verl 0.9, through its registry and its own compute_advantage, beside verl's own GRPO."""

import os
import subprocess
import sys

import numpy as np
import pytest
import torch
from omegaconf import OmegaConf
from tensordict import TensorDict
from verl import DataProto
from verl.trainer.ppo.ray_trainer import compute_advantage
from verl.trainer.ppo.v1.utils import compute_advantage_for_multi_trajectories

import merit_rl.verl_gigpo  # noqa: F401  registers

ENTRANCE, LEFT, RIGHT = [], [7, 7], [8, 8]


def episodes(scores, rooms, **columns):
    """Episodes of two turns of two tokens, with two tokens of the environment between them, and one of padding."""
    n = len(scores)
    rewards = torch.zeros(n, 7)
    rewards[:, 5] = torch.tensor(scores)
    return DataProto(
        batch=TensorDict(
            {
                "token_level_rewards": rewards,
                "response_mask": torch.tensor([[1, 1, 0, 0, 1, 1, 0]] * n),
                "responses": torch.tensor([[3, 4, *room, 5, 6, 0] for room in rooms]),
            },
            batch_size=n,
        ),
        non_tensor_batch={"uid": np.array(["p"] * n, dtype=object), **columns},
    )


def settings(**merit):
    return OmegaConf.create({"gamma": 0.95, "merit": merit})


def test_each_turn_has_its_credit():
    """Promise: verl's compute_advantage with adv_estimator=gigpo gives each turn GiGPO's advantage on its tokens,
    and 0 to what the environment said. The state is what the environment said before the turn."""
    data = episodes([1.0, 0.0, 0.0, 1.0], [LEFT, LEFT, LEFT, RIGHT])
    data = compute_advantage(data, adv_estimator="gigpo", config=settings())
    # by hand, as in test_trl_gigpo
    entrance, rooms = [0.975, -0.975, -0.975, 0.975], [0.5 + 2 / 3, -0.5 - 1 / 3, -0.5 - 1 / 3, 0.5]
    for i in range(4):
        want = [entrance[i], entrance[i], 0, 0, rooms[i], rooms[i], 0]
        assert data.batch["advantages"][i].tolist() == pytest.approx(want, abs=1e-5)
    assert data.batch["returns"][0].tolist() == pytest.approx([0.95, 0.95, 0, 0, 1, 1, 0], abs=1e-5)


def test_version_1_trainer():
    """Promise: the v1 trainer's own function hands on to the estimator as well."""
    data = episodes([1.0, 0.0, 0.0, 1.0], [LEFT, LEFT, LEFT, RIGHT])
    keys = [f"p_{i}_0" for i in range(4)]
    got = compute_advantage_for_multi_trajectories(data, batch_keys=keys, adv_estimator="gigpo", config=settings())
    assert got.batch["advantages"][0, 0].item() == pytest.approx(0.975, abs=1e-5)


def test_states_with_names():
    """Promise: anchors that an agent loop gave are the states."""
    anchors = np.empty(4, dtype=object)
    anchors[:] = [["door", "left"], ["door", "left"], ["door", "left"], ["door", "right"]]
    data = episodes([1.0, 0.0, 0.0, 1.0], [LEFT] * 4, anchors=anchors)
    data = compute_advantage(data, adv_estimator="gigpo", config=settings())
    assert data.batch["advantages"][3, 4].item() == pytest.approx(0.5, abs=1e-5)


def test_unscored_takes_no_part():
    """Promise: an answer that Merit did not score moves no baseline and has no advantage, whatever number stands
    for it: the others have what they would have without it."""
    rooms = [LEFT, LEFT, LEFT, LEFT]
    whole = episodes([1.0, 0.0, -100.0, 1.0], rooms, unscored=np.array([0.0, 0.0, 1.0, 0.0]))
    rest = episodes([1.0, 0.0, 1.0], rooms[:3])
    got = compute_advantage(whole, adv_estimator="gigpo", config=settings()).batch["advantages"]
    want = compute_advantage(rest, adv_estimator="gigpo", config=settings()).batch["advantages"]
    assert torch.allclose(got[[0, 1, 3]], want, atol=1e-6) and torch.all(got[2] == 0)


def test_relatives_and_settings():
    """Promise: algorithm.merit chooses other estimators; GRPO is verl's own, to rounding."""
    scores, rooms = [1.0, 0.0, 0.25, 1.0], [LEFT] * 4
    grpo = settings(estimator="grpo", normalization="mean_std_norm")
    got = compute_advantage(episodes(scores, rooms), adv_estimator="gigpo", config=grpo)
    want = compute_advantage(episodes(scores, rooms), adv_estimator="grpo", config=settings())
    assert torch.allclose(got.batch["advantages"], want.batch["advantages"], atol=1e-5)


def test_what_cannot_be_told_is_an_error():
    """Promise: where a batch does not say in which states turns were taken, nothing is invented."""
    data = episodes([1.0, 0.0], [LEFT, LEFT])
    del data.batch["responses"]
    with pytest.raises(ValueError, match="nothing says in which states"):
        compute_advantage(data, adv_estimator="gigpo", config=settings())


def test_verl_loads_it_by_itself():
    """Promise: VERL_USE_EXTERNAL_MODULES is all that verl needs."""
    code = (
        "import verl; from verl.trainer.ppo.core_algos import get_adv_estimator_fn as f; print(f('gigpo').__module__)"
    )
    env = {**os.environ, "VERL_USE_EXTERNAL_MODULES": "merit_rl.verl_gigpo"}
    out = subprocess.run([sys.executable, "-W", "ignore", "-c", code], env=env, capture_output=True, text=True)
    assert out.stdout.split()[-1:] == ["merit_rl.verl_gigpo"], out.stderr[-2000:]


def objects(*values):
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


def test_rewards_one_by_one():
    """Promise: with algorithm.merit.estimator=gdpo the keys that verl's gdpo_reward_keys names are compared one by
    one; for answers of one turn and of equal length this is verl's own GDPO, but for n − 1 in the deviation of the
    batch, where verl counts 24 tokens and Merit 4 steps. A key that the batch lacks is named."""
    right, brief = [1.0, 0.0, 0.0, 1.0], [0.1, 0.4, 0.2, 0.1]
    merit = {"estimator": "gdpo", "baseline_over": "steps"}
    config = OmegaConf.create(
        {"gamma": 1.0, "merit": merit, "gdpo_reward_keys": ["right", "brief"], "gdpo_reward_weights": [1.0, 0.5]}
    )

    def batch():
        data = episodes(right, [LEFT] * 4, right=np.array(right), brief=np.array(brief))
        data.batch["response_mask"] = torch.tensor([[1] * 6 + [0]] * 4)
        data.batch["prompts"] = torch.tensor([[2]] * 4)
        data.batch["attention_mask"] = torch.tensor([[1] + [1] * 6 + [0]] * 4)
        return data

    got = compute_advantage(batch(), adv_estimator="gigpo", config=config)
    want = compute_advantage(batch(), adv_estimator="gdpo", config=config)
    ours, theirs = (x.batch["advantages"][:, :6] for x in (got, want))
    assert torch.allclose(ours, theirs * (24 / 23 / (4 / 3)) ** 0.5, atol=1e-4)
    config.gdpo_reward_keys = ["right", "polite"]
    with pytest.raises(ValueError, match="names polite, but the batch has brief, right, uid; compute_score must"):
        compute_advantage(batch(), adv_estimator="gigpo", config=config)
    config.gdpo_reward_keys = ["right"]
    with pytest.raises(ValueError, match="1 keys and gdpo_reward_weights 2 weights"):
        compute_advantage(batch(), adv_estimator="gigpo", config=config)


def test_roles_and_greedy_scores():
    """Promise: rae and remax read roles and greedy_score of the batch, and say what is missing without them."""
    rooms, scores = [LEFT] * 2, [1.0, 0.0]
    data = episodes(scores, rooms, roles=objects(["buyer", "seller"], ["buyer", "seller"]))
    got = compute_advantage(data, adv_estimator="gigpo", config=settings(estimator="rae"))
    assert got.batch["advantages"].tolist() == [[0, 0, 0, 0, 1, 1, 0], [0, 0, 0, 0, -1, -1, 0]]
    data = episodes(scores, rooms, greedy_score=np.array([0.25, 0.25]))
    got = compute_advantage(data, adv_estimator="gigpo", config=settings(estimator="remax"))
    assert got.batch["advantages"][:, 0].tolist() == [0.75, -0.25]
    for estimator, lack in (("rae", "no role"), ("remax", "give greedy_score"), ("gdpo", "give rewards")):
        with pytest.raises(Exception, match=lack):
            compute_advantage(episodes(scores, rooms), adv_estimator="gigpo", config=settings(estimator=estimator))
