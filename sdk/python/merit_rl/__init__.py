"""Merit's rewards in every trainer.

    from merit_rl import Reward

    trainer = GRPOTrainer(model, reward_funcs=Reward("reward.py"), ...)

``Reward`` scores completions for trainers, and evaluates whole trajectories.
``Rewards`` combines several. ``advantages`` computes the credit of each step. They
use a server: the one in ``server`` or ``MERIT_SERVER``, or a private one that starts
and stops with the program. The package needs only the standard library.
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
