"""Merit's rewards in every trainer.

    from merit_rl import Reward

    trainer = GRPOTrainer(model, reward_funcs=Reward("reward.py"), ...)

A ``Reward`` is called as TRL calls reward functions, and it evaluates whole
trajectories; ``advantages`` gives steps their credit. Both speak with a server:
a private one, which starts by itself and ends with the program, or one that
``server`` or MERIT_SERVER names. Only the standard library is needed.
"""

from ._rewards import Rewards
from .advantage import advantages
from .errors import (
    Busy,
    Halt,
    InvalidInput,
    MeritError,
    NotAllowed,
    NotFound,
    TooLarge,
    Unavailable,
    Unscored,
)
from .results import OUTCOMES, Metric, Result, StepOutput
from .reward import AsyncReward, Reward

__all__ = [
    "OUTCOMES",
    "AsyncReward",
    "Busy",
    "Halt",
    "InvalidInput",
    "MeritError",
    "Metric",
    "NotAllowed",
    "NotFound",
    "Result",
    "Reward",
    "Rewards",
    "StepOutput",
    "TooLarge",
    "Unavailable",
    "Unscored",
    "advantages",
]
