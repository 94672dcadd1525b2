"""A Merit environment as an environment of verifiers 0.1: for ``vf-eval``, and for trainers that play verifiers' environments.

    from merit_rl.environments import EnvironmentServer
    from merit_rl.verifiers_env import environment

    def load_environment(**options):
        return environment(EnvironmentServer("sokoban", options=options), tasks=100)

:mod:`merit_rl.verifiers_v1` is the same for verifiers 0.4.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
from typing import Any, Dict, Iterator, List

import verifiers as vf
from datasets import Dataset

from merit_rl.environments import EnvironmentServer, RefusedAction, Session, Turn
from merit_rl.errors import Halt, Unavailable


class MeritEnvironment(vf.MultiTurnEnv):  # type: ignore[misc]
    """Plays one episode of Merit's in each rollout; see :func:`environment`."""

    def __init__(self, server: EnvironmentServer, **more: Any) -> None:
        super().__init__(**more)
        self._server = server

    async def setup_state(self, state: Any) -> Any:
        """Opens a session and resets it to the seed of the row."""
        with _infrastructure():
            state["merit_session"] = session = await asyncio.to_thread(self._server.session)
            await asyncio.to_thread(session.reset, state["info"]["seed"])
        return state

    async def env_response(self, messages: Any, state: Any, **_: Any) -> Any:
        """Plays what the assistant said: its tool calls, or its text."""
        session: Session = state["merit_session"]
        calls = messages[-1].get("tool_calls") or []
        action: Any = [_called(c) for c in calls] if calls else messages[-1].get("content") or ""
        try:
            with _infrastructure():
                turn = await asyncio.to_thread(session.step, action)
        except RefusedAction as refused:
            return _said(calls, [str(refused)], str(refused))
        results = [_text(r) for r in turn.observation.get("tool_results") or []]
        answer = _said(calls, results, turn.text)
        if turn.done:
            state["final_env_response"] = answer
        return answer

    @vf.cleanup  # type: ignore[untyped-decorator]
    async def leave(self, state: Any) -> None:
        """Closes the session, whose reward stays."""
        session = state.pop("merit_session", None)
        if session is not None:
            state["merit_reward"] = session.reward
            await asyncio.to_thread(session.close)


def environment(server: EnvironmentServer, tasks: int = 100, first: int = 0, max_turns: int = 50, **more: Any) -> MeritEnvironment:
    """Returns a ``vf.Environment`` of the seeds from ``first``, whose reward is the sum of an episode's rewards.

    The prompt of a task is what the environment says after its reset. Tools are
    offered as it has them in the first task. Where the environment failed, there is no
    reward: the error of the rollout is a ``SandboxError``, for which verifiers tries it again
    (``max_retries``) and trainers leave it out, and its reward is NaN.
    """
    with server.session() as session:
        turns = [(seed, session.reset(seed)) for seed in range(first, first + tasks)]
    rows = Dataset.from_list([{"prompt": _prompt(t), "info": {"seed": seed}, "answer": ""} for seed, t in turns])
    tools = turns[0][1].tools or None
    return MeritEnvironment(
        server, dataset=rows, eval_dataset=rows, rubric=vf.Rubric(funcs=[episode_reward]), max_turns=max_turns, oai_tools=tools, **more
    )


async def episode_reward(state: Any) -> float:
    """The sum of the rewards of the episode."""
    session = state.get("merit_session")
    reward = state.get("merit_reward") if session is None else session.reward
    if reward is None and isinstance(state.get("error"), vf.InfraError):
        return math.nan  # the rubric would make 0 of an exception
    if reward is None:
        raise Halt("the environment failed, so the rollout has no reward")
    return float(reward)


@contextlib.contextmanager
def _infrastructure() -> Iterator[None]:
    """Says in verifiers' words that the environment's server failed."""
    try:
        yield
    except Unavailable as e:
        raise vf.SandboxError(str(e)) from e


def _prompt(turn: Turn) -> List[Dict[str, str]]:
    system = [{"role": "system", "content": turn.system}] if turn.system else []
    return [*system, {"role": "user", "content": turn.text}]


def _called(call: Any) -> Dict[str, Any]:
    function = call["function"] if isinstance(call, dict) else call.function
    name, arguments = (function["name"], function["arguments"]) if isinstance(function, dict) else (function.name, function.arguments)
    try:
        return {"name": name, "arguments": json.loads(arguments)}
    except ValueError:
        return {"name": name, "arguments": arguments}


def _said(calls: Any, results: List[str], text: str) -> List[Dict[str, Any]]:
    """What the environment says: a message for each tool call, or one of the user."""
    if not calls:
        return [{"role": "user", "content": text}]
    results = results if len(results) == len(calls) else [text] * len(calls)
    ids = [c["id"] if isinstance(c, dict) else c.id for c in calls]
    return [{"role": "tool", "tool_call_id": i, "content": r} for i, r in zip(ids, results)]


def _text(result: Any) -> str:
    return result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)
