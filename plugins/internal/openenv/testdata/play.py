"""Plays this repository's server with the clients of the PyPI package openenv.

    python play.py SOKOBAN_URL TEXT_URL

SOKOBAN_URL has one session, and a key in KEY. It prints what it saw as JSON.
"""

import asyncio
import json
import os
import sys
from typing import Any

from openenv.core.client_types import StepResult
from openenv.core.env_client import EnvClient
from openenv.core.env_server.types import Action, Observation, State
from openenv.core.generic_client import GenericEnvClient

SOKOBAN, TEXT = sys.argv[1:]


class Say(Action):
    action: str


class Seen(Observation):
    text: str
    anchor: str
    features: list[float] = []
    system: str = ""
    info: dict[str, Any] = {}


class Typed(EnvClient[Say, Seen, State]):
    """A client as authors write them: with models of their own."""

    def _step_payload(self, action: Say) -> dict[str, Any]:
        return action.model_dump()

    def _parse_result(self, payload: dict[str, Any]) -> StepResult[Seen]:
        seen = Seen(**payload["observation"], reward=payload["reward"], done=payload["done"])
        return StepResult(observation=seen, reward=seen.reward, done=seen.done)

    def _parse_state(self, payload: dict[str, Any]) -> State:
        return State(**payload)


def error(call: Any) -> str:
    try:
        call()
    except RuntimeError as e:
        return str(e)
    raise AssertionError("no error")


def sokoban() -> dict[str, Any]:
    headers = {"Authorization": "Bearer " + os.environ["KEY"]}
    out: dict[str, Any] = {}
    try:
        GenericEnvClient(base_url=SOKOBAN).sync().reset()
    except ConnectionError as e:
        out["stranger"] = str(e)
    with GenericEnvClient(base_url=SOKOBAN, headers=headers).sync() as env:
        out["early"] = error(lambda: env.step({"action": "up"}))
        first = env.reset(seed=7, episode_id="mine")
        out["first"], out["reset_reward"] = first.observation, first.reward
        out["wrong"] = error(lambda: env.step({"action": "fly"}))
        out["unknown"] = error(lambda: env.step({"act": 1}))
        with GenericEnvClient(base_url=SOKOBAN, headers=headers).sync() as other:
            out["full"] = error(lambda: other.reset())
        steps, result = 0, first
        while not result.done:
            result = env.step({"action": steps % 4})
            steps += 1
        out["steps"], out["last"], out["state"] = steps, result.metadata, env.state()
        out["late"] = error(lambda: env.step({"action": 0}))
        out["again"] = env.reset(seed=7).observation["text"] == first.observation["text"]
    return out


async def text() -> dict[str, Any]:
    async def one(i: int) -> float:
        async with Typed(base_url=TEXT) as env:
            result = await env.reset(seed=4 * i)
            total = 0.0
            while not result.done:
                result = await env.step(Say(action="1"))
                total += result.reward
            state = await env.state()
            return total if state.step_count <= 5 else -1

    return {"totals": await asyncio.gather(*(one(i) for i in range(16)))}


print(json.dumps({"sokoban": sokoban(), "text": asyncio.run(text())}))
