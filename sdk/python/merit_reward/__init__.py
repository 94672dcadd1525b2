"""What a Merit reward imports, in the sandbox and natively.

The names are those of reward-kit and eval-protocol, whose rewards run
unchanged: in the sandbox this package also answers to ``reward_kit``,
``eval_protocol`` and ``merit``. It is pure Python and imports nothing heavy.
"""

from .absent import UnavailableError
from .decorator import reward_function, warm_up
from .models import (
    EvaluateResult,
    FunctionCall,
    Message,
    MetricResult,
    Record,
    Rollout,
    StepOutput,
    ToolCall,
)

__version__ = "0.1.0"

__all__ = [
    "EvaluateResult",
    "FunctionCall",
    "Message",
    "MetricResult",
    "Record",
    "Rollout",
    "StepOutput",
    "ToolCall",
    "UnavailableError",
    "reward_function",
    "warm_up",
]
