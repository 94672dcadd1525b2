"""A Merit reward in verifiers: as a plugged reward (0.2 to 0.4) and in a Rubric (0.1).

In a file of your own, whose path and function the configuration names
(``TaskConfig(rewards={"merit": {"fn": "my_reward.py:merit", "weight": 1.0}})``)::

    from merit_rl.verifiers import task_reward

    merit = task_reward("reward.py", ground_truth="answer")

and for ``vf.Rubric(funcs=[merit], weights=[1.0])`` of the older line::

    from merit_rl.verifiers import rubric_reward

    merit = rubric_reward("reward.py")
"""

from __future__ import annotations

import asyncio
import math
from typing import Any, Awaitable, Callable, Dict

from merit_rl._adapting import OnUnscored, checked, fields, halting, number, opened, row, scored, singly, unlucky
from merit_rl.errors import Busy, Unavailable, Unscored
from merit_rl.results import Result


def task_reward(
    reward: Any, ground_truth: str = "answer", on_unscored: OnUnscored = "raise", **options: Any
) -> Callable[..., Awaitable[float]]:
    """Returns ``async (task, trace) -> float`` for verifiers' task rewards.

    ``ground_truth`` is the field of the task's data that holds it, if there is
    one; all fields reach the reward by name. The conversation is the trace's final
    branch. A reward without a score raises: verifiers records a ``TaskError`` in
    the trace, whose reward stays ``None``; or a ``SandboxError``, which verifiers
    can retry, where Merit's infrastructure failed. One that compares is refused with
    :class:`merit_rl.Halt`: verifiers gives it no group.
    """
    chosen, scorer = checked(on_unscored), opened(reward, options)

    async def merit(task: Any, trace: Any) -> float:
        data: Dict[str, Any] = {k: v for k, v in fields(task).items() if k not in ("prompt", "system_prompt")}
        given = {"id": trace.id, "messages": list(trace.messages), "columns": data, "ground_truth": data.get(ground_truth)}
        try:
            [result] = await asyncio.to_thread(singly, scorer, [given], "verifiers")
            if chosen != "raise" or not unlucky(result):
                return number(result, chosen)
            raise Unavailable(_said(result), where=result.id)
        except (Busy, Unavailable) as e:
            from verifiers.v1.errors import SandboxError

            raise SandboxError(str(e)) from e

    return merit


def rubric_reward(reward: Any, on_unscored: OnUnscored = "raise", **options: Any) -> Callable[..., Awaitable[float]]:
    """Returns ``async (prompt, completion, answer, info, …) -> float`` for ``vf.Rubric`` of verifiers 0.1.

    That rubric takes every exception for the score 0. So a reward without a
    score raises :class:`merit_rl.Halt`, which it does not catch, or is
    the number chosen by ``on_unscored``. Where Merit's infrastructure failed, the error of
    the rollout is a ``SandboxError``, for which verifiers tries the rollout again
    (``max_retries``) and trainers leave it out; its reward is NaN, or the number chosen.
    """
    chosen, scorer = checked(on_unscored), opened(reward, options)

    async def merit(
        prompt: Any,
        completion: Any,
        answer: Any = None,
        info: Any = None,
        task: Any = None,
        state: Any = None,
        **_: Any,
    ) -> float:
        with halting():
            columns = {"answer": answer, "info": info, "metadata": info, "task": task}
            given = row("rollout", columns, None if answer == "" else answer, prompt, completion)
            try:
                [result] = await asyncio.to_thread(singly, scorer, [given], "verifiers")
            except (Busy, Unavailable) as e:
                return _again(state, str(e), chosen, e)
            if not scored(result) and unlucky(result):
                return _again(state, _said(result), chosen)
            return number(result, chosen)

    return merit


def _said(result: Result) -> str:
    return f"the reward ended {result.outcome}" + (f": {result.reason}" if result.reason else "")


def _again(state: Any, said: str, chosen: OnUnscored, cause: "BaseException | None" = None) -> float:
    """Marks a rollout as failed by the infrastructure, and returns what stands for its score."""
    if state is None:
        raise Unscored(said) from cause
    from verifiers.errors import SandboxError

    if state.get("error") is None:
        state["error"] = SandboxError(said)
    return math.nan if chosen == "raise" else float(chosen)
