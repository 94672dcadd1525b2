"""Environments that another library plays in its own loop: it asks a model, and Merit's policy answers."""

from __future__ import annotations

import asyncio
import functools
import json
import math
import queue
import re
import threading
from abc import abstractmethod
from typing import Any, Awaitable, Callable, NamedTuple

from .environment import SPLITS, Environment
from .fault import Fault

_OVER = object()

Ask = Callable[[list[dict[str, Any]]], Awaitable[dict[str, Any]]]


class Ended(NamedTuple):
    """How an episode ended: its messages are those that the model would see next."""

    reward: Any
    truncated: bool
    messages: list[dict[str, Any]]
    metrics: dict[str, Any]


class Asking(Environment):
    """One slot: an episode waits for the policy in the loop of all slots."""

    rows: list[Any]  # the tasks of the split; __init__ sets them

    def __init__(self, options: Any, split: str):
        super().__init__(options, split)
        self._episode: _Episode | None = None
        self._heard = 0

    @abstractmethod
    async def play(self, row: Any, ask: Ask) -> Ended:
        """Plays the episode of a row. Ask takes all messages so far, in OpenAI's form, and returns the assistant's."""

    def reset(self, seed: int, turn: Any) -> None:
        self.close()
        self._heard = 0
        row = self.rows[seed % len(self.rows)]
        self._episode = _Episode(lambda ask: self.play(row, ask))
        self._hear(turn)

    def step(self, action: Any, turn: Any) -> None:
        assert self._episode is not None
        self._episode.answer(said(action, bool(self.tools)))
        self._hear(turn)

    def close(self) -> None:
        if self._episode is not None:
            self._episode.stop()
            self._episode = None

    def _hear(self, turn: Any) -> None:
        """Says what the model is asked next, or how the episode ended."""
        assert self._episode is not None
        asked = self._episode.hear()
        if isinstance(asked, Ended):
            self._end(asked, turn)
        else:
            self._say(asked, turn)

    def _say(self, messages: list[dict[str, Any]], turn: Any) -> None:
        new = [m for m in messages[self._heard :] if m["role"] != "assistant" and (m["role"] != "system" or text(m) != self.system)]
        self._heard = len(messages)
        for m in new:
            if m["role"] == "tool":
                turn.tool(m.get("name") or "tool", text(m))
        turn.text = "\n\n".join(text(m) for m in new if m["role"] != "tool")
        turn.anchor = "\n\n".join(text(m) for m in new)

    def _end(self, ended: Ended, turn: Any) -> None:
        if not isinstance(ended.reward, (int, float)) or not math.isfinite(ended.reward):
            raise Fault(f"the reward of the episode is {ended.reward!r}, which is not a finite number", kind="crashed")
        turn.reward, turn.terminated, turn.truncated = float(ended.reward), True, ended.truncated
        self._say(ended.messages, turn)
        for name, value in ended.metrics.items():
            turn.metric(re.sub(r"\W", "_", name)[:256], float(value))


class _Episode:
    """An episode under way in the loop. What one that was stopped still says, nobody hears."""

    def __init__(self, play: Callable[[Ask], Awaitable[Ended]]):
        self._asked: queue.Queue[Any] = queue.Queue()
        self._reply: asyncio.Future[dict[str, Any]] | None = None
        self._task = asyncio.run_coroutine_threadsafe(self._run(play), loop())

    async def _run(self, play: Callable[[Ask], Awaitable[Ended]]) -> None:
        try:
            self._asked.put((_OVER, await play(self._ask)))
        except BaseException as e:
            self._asked.put((_OVER, e))
            raise

    async def _ask(self, messages: list[dict[str, Any]]) -> dict[str, Any]:
        reply: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._asked.put((messages, reply))
        return await reply

    def hear(self) -> Any:
        """Waits for what the model is asked next, its messages, or for how the episode Ended."""
        messages, more = self._asked.get()
        if messages is not _OVER:
            self._reply = more
            return messages
        if isinstance(more, Fault):
            raise more
        if isinstance(more, BaseException):
            raise Fault(f"the rollout of verifiers failed: {more!r}", kind="crashed") from more
        return more

    def answer(self, message: dict[str, Any]) -> None:
        reply, self._reply = self._reply, None
        assert reply is not None
        loop().call_soon_threadsafe(lambda: reply.done() or reply.set_result(message))

    def stop(self) -> None:
        self._task.cancel()


def divided(rows: list[Any], split: str, held: "list[Any] | None" = None) -> list[Any]:
    """The rows of a split; no row is in two.

    Held are rows that were set apart for evaluation: they are for validation and test in turn.
    Without them, every tenth row is for validation and every tenth for test.
    """
    at = SPLITS.index(split)
    if held is None:
        found = [r for i, r in enumerate(rows) if max(0, i % 10 - 7) == at]
    else:
        found = rows if at == 0 else held[at - 1 :: 2]
    if not found:
        raise Fault(f"the environment has no rows for the split {split}")
    return found


def completion(message: dict[str, Any]) -> dict[str, Any]:
    """What an OpenAI-compatible server answers with this message."""
    reason = "tool_calls" if message.get("tool_calls") else "stop"
    choice = {"index": 0, "message": message, "finish_reason": reason, "logprobs": None}
    return {"id": "merit", "object": "chat.completion", "created": 0, "model": "merit", "choices": [choice]}


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
    """The text of a message; an image has none."""
    content = message.get("content")
    if content is None or isinstance(content, str):
        return content or ""
    other = sorted({str(p.get("type")) for p in content if p.get("type") != "text"})
    if other:
        raise Fault(f"a message of the role {message['role']} has parts of the type {', '.join(other)}", hint="Merit's policy gets text: choose an environment without images")
    return "".join(p["text"] for p in content)


@functools.cache
def loop() -> asyncio.AbstractEventLoop:
    """The event loop of all slots, in a thread."""
    made = asyncio.new_event_loop()
    threading.Thread(target=made.run_forever, daemon=True).start()
    return made
