"""An environment of verifiers 0.1 as a plug-in, in three lines.

    import merit_plugin.verifiers

    merit_plugin.verifiers.serve("wordle")

verifiers' own loop plays the episode, with a model that is Merit's policy: what it asks the model
is the observation, and the action is the answer, as text or as tool calls. At the end the rubric
scores the rollout. Its reward is that of the last step, and its metrics are those of the episode.

A task is a row: those of the dataset for training, and those of the evaluation dataset, in turn, for
validation and test. Without an evaluation dataset, every tenth row is for validation and every
tenth for test. :mod:`merit_plugin.verifiers_v1` does the same for the tasksets of verifiers 0.4.
"""

from __future__ import annotations

import functools
import json
from typing import Any, Callable

import httpx
import verifiers as vf
from openai import AsyncOpenAI

from ._asking import Ask, Asking, Ended, completion, divided
from ._process import serve as _serve


class Wrapped(Asking):
    """One slot: a rollout of verifiers."""

    loaded: "vf.Environment"  # what load returned

    def __init__(self, options: Any, split: str):
        super().__init__(options, split)
        self.rows = rows(self.loaded, split)
        self.tasks, self.tools = len(self.rows), tuple(self.loaded.oai_tools or ())
        self.system = self.loaded.system_prompt or ""

    async def play(self, row: Any, ask: Ask) -> Ended:
        async def answer(request: httpx.Request) -> httpx.Response:
            return httpx.Response(200, json=completion(await ask(json.loads(request.content)["messages"])))

        transport = httpx.AsyncClient(transport=httpx.MockTransport(answer), timeout=None)
        client = AsyncOpenAI(api_key="none", base_url="http://merit/v1", http_client=transport, max_retries=0)
        state = await self.loaded.rollout(dict(row), client, "merit", {})
        if state.get("error") is not None:
            raise state["error"]
        await self.loaded.rubric.score_rollout(state)
        messages = [*state["prompt"], *(state["completion"] or [])]
        return Ended(state["reward"], bool(state.get("is_truncated")), messages, state.get("metrics") or {})


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
    train = list(env.get_dataset()) if env.dataset is not None else []
    held = list(env.get_eval_dataset()) if env.eval_dataset is not None else None
    return [{"prompt": r["prompt"], "answer": r.get("answer") or "", "info": r.get("info") or {}, "task": r.get("task") or "default", "example_id": r.get("example_id", 0)} for r in divided(train, split, held)]
