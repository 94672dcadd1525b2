"""A Merit environment as a taskset of verifiers 0.4: for its ``eval``, and for trainers that play its tasksets.

In a module of your own, whose name is the taskset's id::

    from merit_rl.verifiers_v1 import MeritEnv, MeritTaskset

    __all__ = ["MeritEnv", "MeritTaskset"]

verifiers' own taskset ``openenv`` plays ``merit serve env`` too, but the package ``openenv`` cannot be
installed beside verifiers 0.4: they need different versions of ``mcp``.
"""

from __future__ import annotations

import asyncio
import threading
from typing import Any, Dict, Iterator, Optional

import verifiers.v1 as vf

from merit_rl.environments import EnvironmentServer, RefusedAction
from merit_rl.errors import Unavailable

__all__ = ["MeritEnv", "MeritTaskset"]


class MeritData(vf.TaskData):  # type: ignore[misc]
    """A start of the environment."""

    seed: int
    server: Dict[str, Any]


class MeritTask(vf.Task[MeritData]):  # type: ignore[misc]
    """Its reward is what the environment gives: see :class:`MeritEnv`."""


class MeritConfig(vf.TasksetConfig):  # type: ignore[misc]
    """Which environment is played; the fields are those of :class:`merit_rl.environments.EnvironmentServer`."""

    environment: str = ""
    options: Dict[str, Any] = {}
    config: Optional[str] = None
    url: Optional[str] = None
    key: Optional[str] = None
    slots: int = 64
    tasks: int = 100
    """How many tasks there are."""
    first: int = 0
    """The seed of the first one."""


class MeritTaskset(vf.Taskset[MeritTask, MeritConfig]):  # type: ignore[misc]
    """One task for each seed."""

    def load(self) -> Iterator[MeritTask]:
        """Yields the tasks in the order of their seeds."""
        c = self.config
        server = {"environment": c.environment, "options": c.options or None, "config": c.config, "url": c.url, "key": c.key, "slots": c.slots}
        for seed in range(c.first, c.first + c.tasks):
            yield MeritTask(MeritData(name=f"{c.environment or 'merit'}#{seed}", prompt=None, seed=seed, server=server), c.task)


class MeritEnvConfig(vf.EnvConfig):  # type: ignore[misc]
    """The one agent plays."""

    player: vf.AgentConfig = vf.AgentConfig()


class MeritEnv(vf.Env[MeritEnvConfig]):  # type: ignore[misc]
    """Plays an episode: what the environment says is the user's turn, what the agent says its action.

    The sum of the episode's rewards is the reward ``environment``. If the environment
    fails, the run raises a ``SandboxError``, which verifiers can retry, and there is no reward.
    """

    async def run(self, task: Any, agents: Any) -> None:
        """Plays the episode of a task."""
        try:
            await self._play(task, agents)
        except Unavailable as e:
            raise vf.SandboxError(str(e)) from e

    async def _play(self, task: Any, agents: Any) -> None:
        session = await asyncio.to_thread(_server(task.data.server).session)
        try:
            turn = await asyncio.to_thread(session.reset, task.data.seed)
            said = "\n\n".join(filter(None, (turn.system, turn.text)))
            async with agents.player.interaction(task) as interaction:
                segment = await interaction.turn(said)
                while not segment.terminated and not turn.done:
                    try:
                        turn = await asyncio.to_thread(session.step, segment.last_reply)
                        said = turn.text
                    except RefusedAction as refused:
                        said = str(refused)
                    if turn.done:
                        break
                    segment = await interaction.turn(said)
            interaction.trace.record_reward("environment", session.reward)
        finally:
            await asyncio.to_thread(session.close)


_servers: Dict[str, EnvironmentServer] = {}
_lock = threading.Lock()


def _server(arguments: Dict[str, Any]) -> EnvironmentServer:
    """The server of a taskset, started once a process."""
    with _lock:
        key = repr(sorted(arguments.items()))
        if key not in _servers:
            _servers[key] = EnvironmentServer(**arguments)
        return _servers[key]
