"""An environment on the server of the PyPI package openenv: guess a number.

    python peer.py [--sleep SECONDS]

It prints the port that it listens on. With --sleep a step sleeps, as an
environment does that waits for another service, and any guess is right.
"""

import asyncio
import socket
import sys
from typing import Any

import uvicorn
from openenv.core.env_server import Action, Environment, Observation, State, create_app

SLEEP = float(sys.argv[2]) if sys.argv[1:2] == ["--sleep"] else 0.0
LIMIT = 5


class Guess(Action):
    message: str


class Hint(Observation):
    text: str
    numbers: list[float]
    legal_actions: list[int]


class Numbers(Environment[Guess, Hint, State]):
    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self) -> None:
        super().__init__()
        self._state = State()
        self._secret = 0

    def reset(self, seed: int | None = None, episode_id: str | None = None, **_: Any) -> Hint:
        self._secret = (seed or 0) // 4 % 8  # two bits are the split's
        self._state = State(episode_id=episode_id, step_count=0)
        return self._hint("Guess a number from 0 to 7.")

    def step(self, action: Guess, timeout_s: float | None = None, **_: Any) -> Hint:
        self._state.step_count += 1
        guess = int(action.message) if action.message.isdecimal() and len(action.message) < 9 else -1
        if guess == self._secret:
            return self._hint("Right.", 1.0, done=True)
        last = self._state.step_count == LIMIT
        hint = self._hint("Higher." if guess < self._secret else "Lower.", 0.0, done=last)
        hint.metadata = {"truncated": last}
        return hint

    def _hint(self, text: str, reward: float | None = None, done: bool = False) -> Hint:
        return Hint(text=text, numbers=[float(self._state.step_count)], legal_actions=list(range(8)), reward=reward, done=done)

    @property
    def state(self) -> State:
        return self._state


class Sleeper(Numbers):
    async def reset_async(self, seed: int | None = None, episode_id: str | None = None, **kwargs: Any) -> Hint:
        return self.reset(seed, episode_id)

    async def step_async(self, action: Guess, timeout_s: float | None = None, **kwargs: Any) -> Hint:
        await asyncio.sleep(SLEEP)
        return self._hint("", 1.0)


def main() -> None:
    app = create_app(Sleeper if SLEEP else Numbers, Guess, Hint, env_name="numbers", max_concurrent_envs=4096)
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(4096)
    print(listener.getsockname()[1], flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listener])


main()
