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
from typing import Any, Awaitable, Callable, Dict

from merit_rl._adapting import OnUnscored, checked, fields, halting, number, opened, row, singly


def task_reward(
    reward: Any, ground_truth: str = "answer", on_unscored: OnUnscored = "raise", **options: Any
) -> Callable[..., Awaitable[float]]:
    """Returns ``async (task, trace) -> float`` for verifiers' task rewards.

    ``ground_truth`` is the field of the task's data that holds it, if there is
    one; all fields reach the reward by name. The conversation is the trace's final
    branch. A reward without a score raises: verifiers records a ``TaskError`` in
    the trace, whose reward stays ``None``. One that compares is refused with
    :class:`merit_rl.Halt`: verifiers gives it no group.
    """
    chosen, scorer = checked(on_unscored), opened(reward, options)

    async def merit(task: Any, trace: Any) -> float:
        data: Dict[str, Any] = {k: v for k, v in fields(task).items() if k not in ("prompt", "system_prompt")}
        given = {"id": trace.id, "messages": list(trace.messages), "columns": data, "ground_truth": data.get(ground_truth)}
        [result] = await asyncio.to_thread(singly, scorer, [given], "verifiers")
        return number(result, chosen)

    return merit


def rubric_reward(reward: Any, on_unscored: OnUnscored = "raise", **options: Any) -> Callable[..., Awaitable[float]]:
    """Returns ``async (prompt, completion, answer, info, …) -> float`` for ``vf.Rubric`` of verifiers 0.1.

    That rubric takes every exception for the score 0. So a reward without a
    score raises :class:`merit_rl.Halt`, which it does not catch, or is
    the number chosen by ``on_unscored``.
    """
    chosen, scorer = checked(on_unscored), opened(reward, options)

    async def merit(
        prompt: Any, completion: Any, answer: Any = None, info: Any = None, task: Any = None, **_: Any
    ) -> float:
        with halting():
            columns = {"answer": answer, "info": info, "metadata": info, "task": task}
            given = row("rollout", columns, None if answer == "" else answer, prompt, completion)
            [result] = await asyncio.to_thread(singly, scorer, [given], "verifiers")
            return number(result, chosen)

    return merit
