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
