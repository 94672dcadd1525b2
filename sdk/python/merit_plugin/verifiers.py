"""An environment of verifiers 0.1 as a plug-in, in three lines.

    import merit_plugin.verifiers

    merit_plugin.verifiers.serve("wordle")

verifiers' own loop plays the episode, with a model that is Merit's policy: what it asks the model
is the observation, and the action is the answer, as text or as tool calls. At the end the rubric
scores the rollout. Its reward is that of the last step, and its metrics are those of the episode.

A task is a row: those of the dataset for training, and those of the evaluation dataset, in turn, for
validation and test. Without an evaluation dataset, every tenth row is for validation and every
tenth for test.
"""

from __future__ import annotations

import asyncio
import functools
import json
import math
import queue
import re
import threading
from typing import Any, Callable

import httpx
import verifiers as vf
from openai import AsyncOpenAI

from ._process import serve as _serve
from .environment import SPLITS, Environment
from .fault import Fault

_OVER = object()


class Wrapped(Environment):
    """One slot: a rollout of verifiers, which waits for the policy in a thread of its loop."""

    loaded: "vf.Environment"  # what load returned

    def __init__(self, options: Any, split: str):
        super().__init__(options, split)
        self._rows = rows(self.loaded, split)
        self.tasks, self.tools = len(self._rows), tuple(self.loaded.oai_tools or ())
        self.system = self.loaded.system_prompt or ""
        self._asked: queue.Queue[Any] = queue.Queue()
        self._reply: asyncio.Future[Any] | None = None
        self._rollout: Any = None
        self._heard = 0

    def reset(self, seed: int, turn: Any) -> None:
        self._stop()
        self._heard = 0
        row = dict(self._rows[seed % self.tasks])
        self._rollout = asyncio.run_coroutine_threadsafe(self._play(row), loop())
        self._hear(turn)

    def step(self, action: Any, turn: Any) -> None:
        assert self._reply is not None
        reply, self._reply = self._reply, None
        loop().call_soon_threadsafe(reply.set_result, said(action, bool(self.tools)))
        self._hear(turn)

    def close(self) -> None:
        self._stop()

    def _stop(self) -> None:
        if self._rollout is not None:
            self._rollout.cancel()
            self._rollout, self._reply, self._asked = None, None, queue.Queue()

    async def _play(self, row: dict[str, Any]) -> None:
        asked = self._asked  # that of this episode

        async def answer(request: httpx.Request) -> httpx.Response:
            reply: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
            asked.put((json.loads(request.content)["messages"], reply))
            message = await reply
            reason = "tool_calls" if message.get("tool_calls") else "stop"
            choice = {"index": 0, "message": message, "finish_reason": reason, "logprobs": None}
            whole = {"id": "merit", "object": "chat.completion", "created": 0, "model": "merit", "choices": [choice]}
            return httpx.Response(200, json=whole)

        try:
            transport = httpx.AsyncClient(transport=httpx.MockTransport(answer), timeout=None)
            client = AsyncOpenAI(api_key="none", base_url="http://merit/v1", http_client=transport, max_retries=0)
            state = await self.loaded.rollout(row, client, "merit", {})
            if state.get("error") is None:
                await self.loaded.rubric.score_rollout(state)
            asked.put((_OVER, state))
        except BaseException as e:
            asked.put((_OVER, e))
            raise

    def _hear(self, turn: Any) -> None:
        """Says what the rollout asks the model next, or how it ended."""
        messages, more = self._asked.get()
        if messages is _OVER:
            self._end(more, turn)
            return
        self._reply = more
        self._say(messages, turn)

    def _say(self, messages: list[dict[str, Any]], turn: Any) -> None:
        new = [m for m in messages[self._heard :] if m["role"] != "assistant" and (m["role"] != "system" or text(m) != self.system)]
        self._heard = len(messages)
        for m in new:
            if m["role"] == "tool":
                turn.tool(m.get("name") or "tool", text(m))
        turn.text = "\n\n".join(text(m) for m in new if m["role"] != "tool")
        turn.anchor = "\n\n".join(text(m) for m in new)

    def _end(self, state: Any, turn: Any) -> None:
        error = state if isinstance(state, BaseException) else state.get("error")
        if error is not None:
            raise Fault(f"the rollout of verifiers failed: {error!r}", kind="crashed")
        reward = state["reward"]
        if reward is None or not math.isfinite(reward):
            raise Fault(f"the rubric's reward is {reward!r}, which is not a finite number", kind="crashed")
        turn.reward, turn.terminated = float(reward), True
        turn.truncated = bool(state.get("is_truncated"))
        self._say([*state["prompt"], *(state["completion"] or [])], turn)
        for name, value in (state.get("metrics") or {}).items():
            turn.metric(re.sub(r"\W", "_", name)[:256], float(value))


def serve(load: "str | Callable[..., Any]", *, name: str = "", version: str = "0.1.0", summary: str = "", options: "type | None" = None) -> None:
    """Serves an environment of verifiers: its id, or a function that loads it.

    options is a dataclass; its fields are the arguments that the environment is loaded with.
    """
    make = functools.partial(vf.load_environment, load) if isinstance(load, str) else load
    title = load if isinstance(load, str) else name
    _serve(wrapping(make), name=name or title, version=version, summary=summary or f"{title} of verifiers.", options=options)


def wrapping(make: Callable[..., Any]) -> type[Wrapped]:
    """The class of slots for an environment, which is loaded once for equal options."""
    loaded: dict[str, Any] = {}

    class Slot(Wrapped):
        def __init__(self, options: Any, split: str):
            given = dict(vars(options)) if options is not None else {}
            key = repr(sorted(given.items()))
            if key not in loaded:
                loaded[key] = make(**given)
            self.loaded = loaded[key]
            super().__init__(options, split)

    return Slot


def rows(env: Any, split: str) -> list[dict[str, Any]]:
    """The rows of a split; no row is in two."""
    train, at = list(env.get_dataset()) if env.dataset is not None else [], SPLITS.index(split)
    if env.eval_dataset is not None:
        held = list(env.get_eval_dataset())
        found = train if at == 0 else held[at - 1 :: 2]
    else:
        found = [r for i, r in enumerate(train) if max(0, i % 10 - 7) == at]
    if not found:
        raise Fault(f"the environment has no rows for the split {split}")
    return [{"prompt": r["prompt"], "answer": r.get("answer") or "", "info": r.get("info") or {}, "task": r.get("task") or "default", "example_id": r.get("example_id", 0)} for r in found]


def said(action: Any, tools: bool) -> dict[str, Any]:
    """The policy's action as a message: tool calls, if it is a list of them, or text."""
    if tools:
        try:
            calls = json.loads(action)
        except ValueError:
            calls = None
        if isinstance(calls, list) and calls and all(isinstance(c, dict) and "function" in c for c in calls):
            return {"role": "assistant", "content": None, "tool_calls": [{"id": f"call_{i}", "type": "function", **c} for i, c in enumerate(calls)]}
    return {"role": "assistant", "content": action}


def text(message: Any) -> str:
    content = message.get("content")
    return content if isinstance(content, str) else "".join(p.get("text", "") for p in content or [])


@functools.cache
def loop() -> asyncio.AbstractEventLoop:
    """The event loop of all slots, in a thread."""
    made = asyncio.new_event_loop()
    threading.Thread(target=made.run_forever, daemon=True).start()
    return made
