"""The request code of tools that call reward servers, as they publish it, driven without their models.

Nothing here speaks HTTP itself: the requests are made by the packages' own classes. What stands in for
something is the language model, and the servers around NeMo Gym's agent.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import socket
import sys
import threading
import time
import types
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from typing import Any, Iterator


def eval_protocol(endpoint: str, messages: "list[dict[str, Any]]", ground_truth: Any = None, key: str = "", **kwargs: Any) -> Any:
    """eval-protocol: a RewardFunction in mode "remote". Its key comes from the environment."""
    from eval_protocol.reward_function import RewardFunction

    os.environ["FIREWORKS_API_KEY"] = key
    return RewardFunction(mode="remote", endpoint=endpoint)(messages, ground_truth, **kwargs)


def reward_kit_preview(base: str, samples: str) -> int:
    """reward-kit: `reward-kit preview --remote-url`, which prints what it gets."""
    from reward_kit.cli_commands.preview import preview_command

    os.environ.setdefault("FIREWORKS_API_KEY", "unused")  # it will not start without one, and does not send it
    return preview_command(
        types.SimpleNamespace(
            remote_url=base, samples=samples, max_samples=10, metrics_folders=None, huggingface_dataset=None, huggingface_key_map=None
        )
    )


def _openrlhf_agent() -> Any:
    """openrlhf/utils/agent.py itself: the package around it would import deepspeed, ray and vllm."""
    name = "openrlhf.utils.agent"
    if name not in sys.modules:
        found = importlib.util.find_spec("openrlhf")
        assert found is not None and found.submodule_search_locations is not None
        root = Path(found.submodule_search_locations[0])
        for package, folder in (("openrlhf", root), ("openrlhf.utils", root / "utils")):
            sys.modules[package] = types.ModuleType(package)
            sys.modules[package].__path__ = [str(folder)]  # type: ignore[attr-defined]
        importlib.import_module(name)
    return sys.modules[name]


class _Ids(list):
    def tolist(self) -> "list[int]":
        return list(self)


class _Letters:
    """A tokenizer whose tokens are characters."""

    def __call__(self, text: str, **_: Any) -> "dict[str, list[_Ids]]":
        return {"input_ids": [_Ids(ord(c) for c in text)]}

    def decode(self, ids: "list[int]", **_: Any) -> str:
        return "".join(map(chr, ids))


class _Says:
    """An engine that answers each prompt with the same text."""

    def __init__(self, text: str) -> None:
        self.text = text

    async def generate(self, *_: Any, **__: Any) -> Any:
        ids = [ord(c) for c in self.text]
        return types.SimpleNamespace(
            outputs=[types.SimpleNamespace(token_ids=ids, text=self.text, finish_reason="stop", logprobs=None)]
        )


def openrlhf(url: "str | list[str]", prompt: str, response: str, label: Any, max_length: int = 4096) -> "dict[str, Any]":
    """OpenRLHF: one rollout of SingleTurnAgentExecutor, with `--reward.remote_url` url."""
    executor = _openrlhf_agent().SingleTurnAgentExecutor(url)
    params = types.SimpleNamespace(max_tokens=len(response), logprobs=None)
    return asyncio.run(executor.execute(prompt, label, deepcopy(params), max_length, _Letters(), _Says(response)))


@contextmanager
def served(app: Any) -> "Iterator[int]":
    """An ASGI application on a port of its own."""
    import uvicorn

    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", loop="asyncio"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    deadline = time.monotonic() + 30
    while not server.started and time.monotonic() < deadline:
        time.sleep(0.01)
    assert server.started, "the server did not start"
    try:
        yield listener.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join()


def _model(turns: "list[list[dict[str, Any]]]") -> Any:
    """A model server of NeMo Gym: turn by turn, what the items of turns say."""
    from fastapi import FastAPI

    app = FastAPI()

    @app.post("/v1/responses")
    async def responses(body: dict) -> dict:  # type: ignore[type-arg]
        asked = sum(item.get("type") == "function_call_output" for item in body["input"])
        return {
            "id": "resp_1", "created_at": 0.0, "model": "scripted", "object": "response", "output": turns[asked],
            "parallel_tool_calls": True, "tool_choice": "auto", "tools": [],
        }  # fmt: skip

    return app


@contextmanager
def nemo_gym(host: str, port: int, turns: "list[list[dict[str, Any]]]") -> "Iterator[str]":
    """NeMo Gym: its simple_agent, with the resources server at host and port; the URL of the agent."""
    from nemo_gym.global_config import NEMO_GYM_CONFIG_DICT_ENV_VAR_NAME
    from nemo_gym import server_utils
    from omegaconf import OmegaConf
    from responses_api_agents.simple_agent.app import SimpleAgent, SimpleAgentConfig

    with served(_model(turns)) as model_port:
        # As in a configuration of NeMo Gym: a server without an entrypoint is there already.
        config: "dict[str, Any]" = {
            "merit": {"resources_servers": {"merit": {"host": host, "port": port}}},
            "policy": {"responses_api_models": {"policy": {"host": "127.0.0.1", "port": model_port}}},
            "agent": {"responses_api_agents": {"simple_agent": {"host": "127.0.0.1", "port": 0}}},
        }
        os.environ[NEMO_GYM_CONFIG_DICT_ENV_VAR_NAME] = json.dumps(config)  # as Gym's own processes have it
        servers = OmegaConf.create(config)
        agent = SimpleAgent(
            config=SimpleAgentConfig(
                host="127.0.0.1", port=0, entrypoint="app.py", name="agent",
                resources_server={"type": "resources_servers", "name": "merit"},
                model_server={"type": "responses_api_models", "name": "policy"},
            ),
            server_client=server_utils.ServerClient(head_server_config={"host": "127.0.0.1", "port": 0}, global_config_dict=servers),
        )  # fmt: skip
        app = agent.setup_webserver()
        agent.setup_exception_middleware(app)
        with served(app) as agent_port:
            servers.agent.responses_api_agents.simple_agent.port = agent_port
            yield f"http://127.0.0.1:{agent_port}"
    server_utils._GLOBAL_AIOHTTP_CLIENT = None  # it is of the loop that has ended
