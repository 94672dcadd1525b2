"""A Merit reward as an environment of SkyRL-gym: one answer, scored, done.

::

    skyrl_gym.register("merit", entry_point="merit_rl.skyrl_gym:MeritEnv", kwargs={"reward": "reward.py"})

with ``environment.env_class=merit``. Further ``kwargs`` are options of
:class:`merit_rl.Reward` and ``on_unscored``. An environment of several turns
scores its conversation with :func:`score` in its last step.
"""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Tuple

from skyrl_gym.envs.base_text_env import BaseTextEnv, BaseTextEnvStepOutput

from merit_rl._adapting import OnUnscored, checked, halting, number, opened, row, singly


class MeritEnv(BaseTextEnv):  # type: ignore[misc,unused-ignore]
    """Scores the answer to a prompt; ``extras`` are the other columns of the row, which reach the reward by name.

    ``extras["reward_spec"]["ground_truth"]`` is the ground truth, as in
    SkyRL-gym's own environments; ``extras["extra_info"]`` is also the metadata.
    """

    def __init__(
        self,
        env_config: Any = None,
        extras: Optional[Mapping[str, Any]] = None,
        *,
        reward: Any,
        on_unscored: OnUnscored = "raise",
        **options: Any,
    ) -> None:
        super().__init__()
        self.on_unscored = checked(on_unscored)
        self.reward = opened(reward, options)
        self.extras = extras or {}
        self.prompt: List[Dict[str, str]] = []

    def init(self, prompt: List[Dict[str, str]]) -> Tuple[List[Dict[str, str]], Dict[str, Any]]:
        self.prompt = list(prompt)
        return prompt, {}

    def step(self, action: str) -> BaseTextEnvStepOutput:
        reward = score(self.reward, self.prompt, action, self.extras, self.on_unscored)
        return BaseTextEnvStepOutput(observations=[], reward=reward, done=True, metadata={})


def score(
    reward: Any, prompt: Any, completion: Any, extras: Mapping[str, Any], on_unscored: OnUnscored = "raise"
) -> float:
    """The score of a conversation; without one, the number chosen or :class:`merit_rl.Halt`."""
    with halting():
        truth = (extras.get("reward_spec") or {}).get("ground_truth")
        columns = {**extras, "metadata": extras.get("extra_info")}
        [result] = singly(reward, [row("rollout", columns, truth, prompt, completion)], "SkyRL-gym")
        return number(result, on_unscored)
