"""verifiers 0.1.10, as published, evaluates a scripted model in Merit's environments."""

import asyncio
import json
import math

import httpx
from openai import AsyncOpenAI

from merit_rl.environments import EnvironmentServer
from merit_rl.errors import Unavailable
from merit_rl.verifiers_env import environment


def client(say):
    """An OpenAI client whose model is a function of the messages: a text, or tool calls."""

    def answer(request):
        body = json.loads(request.content)
        said = say(body)
        message = {"role": "assistant", "content": said} if isinstance(said, str) else {"role": "assistant", "content": None, "tool_calls": said}
        reason = "stop" if isinstance(said, str) else "tool_calls"
        choice = {"index": 0, "message": message, "finish_reason": reason, "logprobs": None}
        return httpx.Response(200, json={"id": "x", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice]})

    return AsyncOpenAI(api_key="x", base_url="http://model/v1", http_client=httpx.AsyncClient(transport=httpx.MockTransport(answer)))


def call(name, **arguments):
    return [{"id": f"c-{name}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}]


def played(env, say, n=2, **more):
    return asyncio.run(env.evaluate(client(say), "m", num_examples=n, rollouts_per_example=1, max_concurrent=4, **more))["outputs"]


def test_text_and_named_actions():
    """Promise: an environment with named actions is played by text; each task is a seed, and a wrong action changes nothing."""
    with EnvironmentServer("frozenlake", slots=8) as server:
        env = environment(server, tasks=3, max_turns=3)
        prompts = [row["prompt"] for row in env.get_eval_dataset()]
        assert len({p[-1]["content"] for p in prompts}) > 1
        seen = []

        def say(body):
            seen.append(body["messages"][-1]["content"])
            return "fly" if len(body["messages"]) <= 2 else "right"

        found = played(env, say, 3)
        assert len(found) == 3 and all(o["reward"] is not None and o["error"] is None for o in found)
        assert any("is not an action" in s for s in seen)


def test_tools():
    """Promise: tools reach the model, their results come back as tool messages, and the reward is the environment's."""
    with EnvironmentServer("toolbox", slots=8) as server:
        env = environment(server, tasks=1, first=3, max_turns=4)

        def say(body):
            assert any(t["function"]["name"] == "add_note" for t in body["tools"])
            return call("add_note", title="Lunch") if body["messages"][-1]["role"] == "user" else call("finish")

        found = played(env, say, 1)
        assert [o["reward"] for o in found] == [1.0]
        roles = [m["role"] for m in found[0]["completion"]]
        assert roles == ["assistant", "tool", "assistant", "tool"]


def test_a_failed_environment_is_not_0():
    """Promise: where the environment fails, verifiers gets an error that it retries, and NaN, never the reward 0."""
    server = EnvironmentServer("frozenlake", slots=2)
    env = environment(server, tasks=1, max_turns=2)
    server.close()
    server._url = "http://127.0.0.1:9"
    [found] = played(env, lambda body: "left", 1)
    assert math.isnan(found["reward"]) and found["error"]["error"] == "SandboxError"


def test_a_failed_environment_is_tried_again(monkeypatch):
    """Promise: with max_retries, verifiers plays the rollout again, and has the reward of the second try."""
    with EnvironmentServer("frozenlake", slots=2) as server:
        env = environment(server, tasks=1, max_turns=2)
        session, tried = server.session, []

        def once():
            tried.append(None)
            if len(tried) == 1:
                raise Unavailable("away")
            return session()

        monkeypatch.setattr(server, "session", once)
        [found] = played(env, lambda body: "left", 1, max_retries=1)
        assert len(tried) == 2 and found["error"] is None and not math.isnan(found["reward"])
