"""A taskset of verifiers 0.4 as a plug-in, in three lines.

    import merit_plugin.verifiers_v1

    merit_plugin.verifiers_v1.serve("textarena", options=Options)

verifiers plays the episode in its own environment, and its one agent is Merit's policy: what the
agent is asked is the observation, and its reply the action. At the end, the task scores the trace: the sum of
its weighted rewards is the reward of the last step; each of them and the metrics are metrics of the episode.

That is for tasksets of chats, of one turn or of many. What needs more than a chat is refused by its
name: tools, a container, a bundled harness, rewards that read the runtime, and several agents.

Every tenth task is for validation and every tenth for test. Of an infinite taskset the first tasks are
played, 1,000 unless serve is told otherwise.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import itertools
import sys
from typing import Any, AsyncIterator, Awaitable, Callable

import httpx
import verifiers.v1 as vf
from aiohttp import web
from verifiers.v1.clients import EvalClientConfig, ModelContext
from verifiers.v1.configs.agent import AgentConfig
from verifiers.v1.dialects.chat import message_to_wire
from verifiers.v1.runtimes import ProgramResult
from verifiers.v1.utils import loaders

from ._asking import Ask, Asking, Ended, completion, divided
from ._process import serve as _serve
from .fault import Fault, Faults

__all__ = ["PolicyHarness", "serve"]

HARNESS = "merit_policy"  # the id by which verifiers finds the harness


class PolicyHarness(vf.Harness[vf.HarnessConfig]):
    """A chat without tools, in this process: a segment of the conversation is one call of the model."""

    APPENDS_SYSTEM_PROMPT = True
    SUPPORTS_RESUME = True
    EXECUTES_CODE = False
    NEEDS_CONTAINER = False

    async def launch(self, ctx: Any, trace: Any, runtime: Any, endpoint: str, secret: str, mcp_urls: Any, data: Any, **_: Any) -> ProgramResult:
        system, prompt = self.resolve_prompt(data)
        messages = [{"role": "system", "content": system}] if system else []
        if isinstance(prompt, str):
            messages.append({"role": "user", "content": prompt})
        else:
            messages += [message_to_wire(m) for m in prompt or []]
        async with httpx.AsyncClient(timeout=None, trust_env=False) as client:
            answer = await client.post(
                f"{endpoint}/chat/completions", json={"model": ctx.model, "messages": messages}, headers={"Authorization": f"Bearer {secret}"}
            )
        return ProgramResult(exit_code=int(answer.is_error), stdout="", stderr=answer.text if answer.is_error else "")


sys.modules.setdefault(HARNESS, sys.modules[__name__])


class Wrapped(Asking):
    """One slot: an episode of verifiers."""

    env: "vf.Env"

    def __init__(self, options: Any, split: str, tasks: "list[vf.Task]"):
        super().__init__(options, split)
        self.rows = divided(tasks, split)
        self.tasks = len(self.rows)
        systems = {t.data.system_prompt for t in tasks}
        self.system = (systems.pop() if len(systems) == 1 else None) or ""

    async def play(self, row: Any, ask: Ask) -> Ended:
        provider = await _once(_Provider, _Provider().start)
        await _once(self.env, lambda: _serving(self.env))
        async with provider.model(ask) as (url, seen):
            context = ModelContext(model="merit", client=EvalClientConfig(base_url=url, api_key_var="MERIT_NO_KEY"))
            episode = await self.env.run_episode(row, context)
        errors = [*episode.errors, *(e for t in episode.traces for e in t.errors)]
        if not episode.ok:
            raise Fault("the episode of verifiers failed: " + "; ".join(f"{e.type}: {e.message}" for e in errors), kind="crashed")
        [trace] = episode.traces
        missing = [name for name, r in trace.rewards.items() if r is None]
        if missing or not trace.rewards:
            raise Fault(f"the task gave no reward {', '.join(missing)}".rstrip(), kind="crashed")
        metrics = {name: value for name, value in trace.metrics.items() if value is not None} | {name: r.value for name, r in trace.rewards.items()}
        return Ended(trace.reward, trace.is_truncated, seen, metrics)


def serve(taskset: str, *, env: str = "", tasks: int = 1000, name: str = "", version: str = "0.1.0", summary: str = "", options: "type | None" = None) -> None:
    """Serves a taskset of verifiers by its id: the name of an installed module.

    env is the id of the environment that plays it, if it is not the taskset's own. options is a
    dataclass; its fields are those of the taskset's configuration. tasks is how many tasks of an
    infinite taskset there are.
    """
    _serve(wrapping(taskset, tasks, env), name=name or taskset.replace("/", "-"), version=version, summary=summary or f"{taskset} of verifiers.", options=options)


def wrapping(taskset: str, tasks: int = 1000, env: str = "") -> type[Wrapped]:
    """The class of slots for a taskset, which is loaded once for equal options."""
    loaded: dict[str, Any] = {}

    class Slot(Wrapped):
        def __init__(self, options: Any, split: str):
            given = dict(vars(options)) if options is not None else {}
            key = repr(sorted(given.items()))
            if key not in loaded:
                made = environment(taskset, given, env)
                loaded[key] = made, list(itertools.islice(made.taskset, None if made.taskset.bounded else tasks))
                refuse(*loaded[key])
            self.env, found = loaded[key]
            super().__init__(options, split, found)

    return Slot


def environment(taskset: str, fields: dict[str, Any], env: str = "") -> Any:
    """The environment of verifiers, of the taskset or another, in which Merit's policy is the one agent."""
    declared = loaders.env_config_type(taskset, env)
    agents = [name for name, field in declared.model_fields.items() if isinstance(field.default, AgentConfig)]
    if len(agents) != 1:
        raise Fault(f"the environment of {taskset} has {len(agents)} agents ({', '.join(agents)}), and Merit plays one", kind="refused")
    if loaders.default_harness_id(taskset) == taskset:
        raise Fault(f"{taskset} brings its harness, {loaders.harness_class(taskset).__name__}, and Merit's policy only chats", kind="refused")
    agent = {"harness": {"id": HARNESS}, "runtime": {"type": "subprocess"}, "network_notice": False}
    return loaders.load_environment(loaders.resolve_env_config({"id": env, "taskset": {**fields, "id": taskset}, agents[0]: agent}))


def refuse(env: Any, tasks: "list[vf.Task]") -> None:
    """Refuses a taskset that needs more than a chat, with all that it needs."""
    kind, name = type(env.taskset).task_type(), type(env.taskset).__name__
    needs = [f"the tools of {type(t).__name__}" for t in [*env.taskset.toolsets(env.taskset.config), *kind.toolsets(env.taskset.config.task)]]
    if kind.NEEDS_CONTAINER:
        needs.append(f"a container for {kind.__name__}")
    needs += sorted({f"the container image {t.data.image}" for t in tasks if t.data.image})[:3]
    for hook in itertools.chain.from_iterable(map(tasks[0].hooks, ("reward", "metric")) if tasks else ()):
        parameter = inspect.signature(hook).parameters.get("runtime")
        if parameter is not None and parameter.default is inspect.Parameter.empty:
            needs.append(f"a runtime for {kind.__name__}.{hook.__name__}")
    if needs:
        hint = "Merit plays tasksets of chats; play this one with verifiers' eval"
        raise Faults([Fault(f"{name} needs {need}", kind="refused", hint=hint) for need in needs])


class _Provider:
    """The model of verifiers' clients: a server on the loopback interface, with a path for each episode."""

    def __init__(self) -> None:
        self._url = ""
        self._asked: dict[str, Any] = {}
        self._count = itertools.count()

    async def start(self) -> "_Provider":
        app = web.Application(client_max_size=1 << 30)
        app.router.add_post("/{episode}/chat/completions", self._answer)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        host, port = runner.addresses[0][:2]
        self._url = f"http://{host}:{port}"
        return self

    @contextlib.asynccontextmanager
    async def model(self, ask: Ask) -> AsyncIterator[tuple[str, list[dict[str, Any]]]]:
        """The model of one episode, while it is played: its address, and the messages of its last call with the answer."""
        episode, seen, calls = str(next(self._count)), [], set()

        async def asked(messages: Any) -> Any:
            call = asyncio.ensure_future(ask(messages))
            calls.add(call)
            message = await call
            seen[:] = [*messages, message]
            return message

        self._asked[episode] = asked
        try:
            yield f"{self._url}/{episode}", seen
        finally:
            del self._asked[episode]
            for call in calls:
                call.cancel()

    async def _answer(self, request: web.Request) -> web.Response:
        asked = self._asked[request.match_info["episode"]]
        return web.json_response(completion(await asked((await request.json())["messages"])))


async def _serving(env: Any) -> Any:
    """Opens what the environment's episodes share, until the process ends."""
    context = env.serving()
    await context.__aenter__()
    return context


_started: dict[Any, "asyncio.Future[Any]"] = {}


async def _once(key: Any, start: Callable[[], Awaitable[Any]]) -> Any:
    """What was started for a key, once for all slots."""
    if key not in _started:
        _started[key] = asyncio.ensure_future(start())
    return await asyncio.shield(_started[key])
