"""SkyRL-gym 0.4, as published, with a Merit reward as an environment: its own register, make and step."""

import pytest
import skyrl_gym
from skyrl_gym.envs.registration import registry

from merit_rl import Halt


@pytest.fixture
def made(example):
    """Makes the environment of the docs as SkyRL's generator does."""
    example("skyrl_env")
    yield lambda **extras: skyrl_gym.make("merit", env_config={}, extras=extras)
    registry.pop("merit")


def play(env, answer):
    env.init([{"role": "user", "content": "2 + 2?"}])
    return env.step(answer)


def test_example(made):
    """Promise: the environment that the docs register scores an answer and is done."""
    for answer, want in (("It is 4", 1.0), ("It is 5", 0.0)):
        said = play(made(reward_spec={"ground_truth": "4"}, extra_info={"level": 1}), answer)
        assert (said["reward"], said["done"], said["observations"]) == (want, True, [])


def test_no_score_is_not_zero(made):
    """Promise: an answer without a score ends the step, or is the number that was chosen."""
    with pytest.raises(Halt, match="no ground truth"):
        play(made(), "It is 4")
    env = skyrl_gym.make("merit", on_unscored=-1, extras={})
    assert play(env, "It is 4")["reward"] == -1.0
