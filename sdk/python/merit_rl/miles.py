"""A Merit reward as miles' reward (``--custom-rm-path my_reward.custom_rm``).

In a file of your own, two lines::

    from merit_rl.miles import function

    custom_rm = function("reward.py")

That is what :mod:`merit_rl.slime` does, from which miles comes. Where a number was chosen for rewards without a
score, miles is told more: ``Sample.status`` is ``aborted`` where the infrastructure failed, so that
miles plays the group again (its asynchronous buffer, and
``--dynamic-sampling-filter-path miles.rollout.filter_hub.dynamic_sampling_filters.check_no_aborted``), and ``failed``
where the same answer would fail again. Either way ``Sample.remove_sample`` takes the sample out of the loss.
"""

from __future__ import annotations

from typing import Any, Awaitable, Callable

from merit_rl._adapting import OnUnscored
from merit_rl._outcomes import form
from merit_rl.results import Result
from merit_rl.slime import Scores, marking


def function(reward: Any, on_unscored: OnUnscored = "raise", **options: Any) -> Callable[..., Awaitable[Scores]]:
    """Returns ``async custom_rm(args, sample, **kwargs)`` for a reward, as :func:`merit_rl.slime.function` does."""
    return marking(_failed, reward, on_unscored, options)


def _failed(sample: Any, result: Result) -> None:
    sample.remove_sample = True
    sample.status = type(sample.status)(form(result.outcome).miles)
