"""Merit's environments in trainers that play them: TRL's ``environment_factory``, and your own loops.

    from merit_rl.environments import EnvironmentServer, trl_factory

    server = EnvironmentServer("sokoban", options={"boxes": 1})
    trainer = GRPOTrainer(model, train_dataset=Dataset.from_list(server.tasks(1000)), environment_factory=trl_factory(server))

An :class:`EnvironmentServer` is ``merit serve env``: a process that ends with this
one, or an address. A :class:`Session` plays one episode after another over OpenEnv's
protocol. Any environment of Merit's will do: actions by name, text, tools.
"""

from __future__ import annotations

import inspect
import json
import os
import re
import subprocess
import threading
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, Mapping, Optional, Type

from . import _binary
from ._websocket import WebSocket
from .errors import InvalidInput, Unavailable

START_SECONDS = 60.0


@dataclass
class Turn:
    """What an environment says after a reset or a step.

    ``reward`` is None after a reset. ``tools`` are those of the episode, in OpenAI's
    form, and ``system`` its instructions; both come with a reset.
    """

    text: str
    reward: Optional[float] = None
    done: bool = False
    terminated: bool = False
    truncated: bool = False
    system: str = ""
    tools: List[Dict[str, Any]] = field(default_factory=list)
    messages: List[Dict[str, Any]] = field(default_factory=list)
    observation: Dict[str, Any] = field(default_factory=dict)
    metadata: Dict[str, Any] = field(default_factory=dict)


class RefusedAction(ValueError):
    """The environment does not know the action, or does not allow it now; the episode has not changed."""


class EnvironmentServer:
    """An environment of Merit's that sessions play.

    ``environment`` names a plug-in, a module or a script, as ``environment.plugin``
    and ``environment.module`` of a configuration do, with its ``options``. ``config`` is a
    ``train.yaml`` whose environment is played instead. ``url`` is the address of a
    ``merit serve env`` that runs elsewhere, with its ``key``. ``slots`` is the
    largest number of sessions at a time.
    """

    def __init__(
        self,
        environment: str = "",
        *,
        options: Optional[Mapping[str, Any]] = None,
        config: Optional[str] = None,
        url: Optional[str] = None,
        key: Optional[str] = None,
        slots: int = 64,
        split: str = "train",
        timeout: float = 120.0,
    ) -> None:
        if [bool(environment), config is not None, url is not None].count(True) != 1:
            raise ValueError("name one of environment, config and url")
        self._arguments = _arguments(environment, options, config, slots, split)
        self._url, self._key, self._timeout = url, key, timeout
        self._process: "Optional[subprocess.Popen[str]]" = None
        self._lock = threading.Lock()
        self._pid = -1

    @property
    def url(self) -> str:
        """The address. The first call starts the server."""
        with self._lock:
            if self._url is None or self._process is not None and self._pid != os.getpid():
                self._url = self._start()  # a forked process has its own
            return self._url

    def session(self) -> "Session":
        """A session, which must be closed, or used in a ``with`` statement."""
        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        return Session(WebSocket(self.url.rstrip("/") + "/ws", headers, self._timeout))

    def tasks(self, count: int, first: int = 0, **columns: Any) -> List[Dict[str, Any]]:
        """Rows of a dataset for TRL: an empty message of the user, which the environment fills, and a seed."""
        return [{"prompt": [{"role": "user", "content": ""}], "seed": first + i, **columns} for i in range(count)]

    def schema(self) -> Dict[str, Any]:
        """The JSON Schemas of actions, observations and states."""
        from urllib.request import Request, urlopen

        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        with urlopen(Request(self.url.rstrip("/") + "/schema", headers=headers), timeout=self._timeout) as answer:
            found: Dict[str, Any] = json.load(answer)
        return found

    def close(self) -> None:
        """Ends a server that this object has started."""
        with self._lock:
            if self._process is not None and self._pid == os.getpid():
                assert self._process.stdin is not None and self._process.stdout is not None
                self._process.stdin.close()
                self._process.wait()
                self._process.stdout.close()
                self._process, self._url = None, None

    def __enter__(self) -> "EnvironmentServer":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _start(self) -> str:
        # The shell ends the server when its own input ends: with this process, however it ends.
        command = ["sh", "-c", 'exec 3<&0; "$@" 3<&- & exec >&-; read -r _ <&3; kill $! 2>&-; wait $!', "sh", _binary.find(), *self._arguments]
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        assert process.stdin is not None and process.stdout is not None
        line = process.stdout.readline()
        found = re.search(r" on (https?://\S+)", line)
        if found is None:
            process.stdin.close()
            status = process.wait()
            raise Unavailable(
                f"merit serve env ended with status {status} before it listened",
                where=" ".join(self._arguments),
                hint="its message is above, on stderr",
            )
        self._process, self._pid = process, os.getpid()
        return found[1]


def _arguments(
    environment: str, options: Optional[Mapping[str, Any]], config: Optional[str], slots: int, split: str
) -> List[str]:
    found = ["serve", "env", "--listen", "127.0.0.1:0", "--text-only", "--split", split, "--set", f"environment.slots={slots}"]
    if config is not None:
        found += ["--config", config]
    elif environment:
        found += ["--plugin", environment]
    if options:
        found += ["--options", json.dumps(dict(options))]
    return found


class Session:
    """Plays episodes, one after another."""

    def __init__(self, socket: WebSocket) -> None:
        self._socket = socket
        self.rewards: List[float] = []
        self.turn: Optional[Turn] = None

    def reset(self, seed: int) -> Turn:
        """Starts the episode of a seed, from 0; the same seed is the same episode."""
        self.rewards = []
        self.turn = self._asked({"type": "reset", "data": {"seed": int(seed)}})
        return self.turn

    def step(self, action: Any) -> Turn:
        """Acts: with the name or the index of an action, a text, or a list of tool calls ``{"name", "arguments"}``."""
        if self.turn is None or self.turn.done:
            raise RefusedAction("the episode is over: reset first" if self.turn else "reset first")
        data = {"tool_calls": action} if isinstance(action, list) else {"action": action}
        turn = self._asked({"type": "step", "data": data})
        self.rewards.append(turn.reward or 0.0)
        self.turn = turn
        return turn

    @property
    def reward(self) -> Optional[float]:
        """The sum of the rewards of the episode; None if none has begun, or the environment has failed in it."""
        return None if self.turn is None else sum(self.rewards)

    def close(self) -> None:
        """Frees the slot."""
        self._socket.close()

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _asked(self, message: Mapping[str, Any]) -> Turn:
        before, self.turn = self.turn, None  # if it fails
        self._socket.send(json.dumps(message))
        answer = json.loads(self._socket.receive())
        data = answer.get("data") or {}
        if answer.get("type") == "error":
            if data.get("code") == "VALIDATION_ERROR":
                self.turn = before
                raise RefusedAction(str(data.get("message")))
            raise Unavailable(str(data.get("message")), where=str(data.get("code")), hint="the episode has no reward; reset starts another")
        seen, meta = data["observation"], data.get("metadata") or {}
        return Turn(
            text=seen["text"],
            reward=data.get("reward"),
            done=bool(data.get("done")),
            terminated=bool(meta.get("terminated")),
            truncated=bool(meta.get("truncated")),
            system=seen.get("system", ""),
            tools=seen.get("tools", []),
            messages=seen.get("messages", []),
            observation=seen,
            metadata=meta,
        )


class _Played:
    """What the classes of :func:`trl_factory` share; their tools are methods that are added."""

    _server: EnvironmentServer
    _session: Optional[Session] = None

    def reset(self, seed: Any = None, **_: Any) -> str:
        """Starts the episode of the row's seed and returns its instructions and first observation."""
        if seed is None:
            raise InvalidInput(
                "the row has no column seed, so the members of a group would start differently",
                hint="make the dataset of EnvironmentServer.tasks(…), or add a column seed with whole numbers",
            )
        if self._session is None or self._session.turn is None:
            self._leave()
            self._session = self._server.session()
        turn = self._session.reset(int(seed))
        return "\n\n".join(filter(None, (turn.system, turn.text)))

    def get_reward(self) -> Optional[float]:
        """The sum of the episode's rewards; None, which is in no baseline, if the environment failed."""
        return None if self._session is None else self._session.reward

    def _act(self, action: Any) -> str:
        assert self._session is not None
        turn = self._session.step(action)
        return turn.text + ("\n\nThe episode is over." if turn.done else "")

    def _leave(self) -> None:
        if self._session is not None:
            self._session.close()

    def __del__(self) -> None:
        self._leave()


def trl_factory(server: EnvironmentServer, name: str = "Environment") -> Type[Any]:
    """Returns what TRL's ``GRPOTrainer(environment_factory=…)`` takes: a class whose methods are the environment's actions.

    An environment with tools has a method for each. One with named actions has the method
    ``act``, whose ``action`` is one of the names, and one that takes text has ``act`` with any
    text. ``reset`` takes the seed of the row, and ``get_reward`` returns the sum of the
    episode's rewards, or None if the environment failed in it. ``name`` is that of the
    class, under which TRL logs the reward.
    """
    with server.session() as session:
        tools = session.reset(0).tools
    return type(name, (_Played,), {"_server": server, **_methods(server, tools)})


def _methods(server: EnvironmentServer, tools: List[Dict[str, Any]]) -> Dict[str, Callable[..., Any]]:
    if tools:
        return {t["function"]["name"]: _tool(t["function"]) for t in tools}
    schema = server.schema()["action"]["properties"]["action"]
    names = next((part["enum"] for part in schema.get("anyOf", []) if "enum" in part), None)
    action: Dict[str, Any] = {"type": "string", "description": "the action" if names else "the text of the action"}
    if names:
        action["enum"] = names
    act = {
        "name": "act",
        "description": "Act in the environment, and see what follows.",
        "parameters": {"properties": {"action": action}, "required": ["action"]},
    }
    return {"act": _tool(act, lambda arguments: arguments["action"])}


_TYPES = {"string": str, "integer": int, "number": float, "boolean": bool, "array": list, "object": dict}


def _tool(function: Mapping[str, Any], action: Optional[Callable[[Dict[str, Any]], Any]] = None) -> Callable[..., Any]:
    """A method with the signature, the types and the docstring from which transformers makes the schema of a tool."""
    name, parameters = function["name"], function.get("parameters") or {}
    if name in ("reset", "get_reward") or name.startswith("_") or not name.isidentifier():
        raise InvalidInput(f"a tool called {name!r} cannot be a method of a TRL environment", where=name)

    def method(self: Any, **arguments: Any) -> str:
        given = {k: v for k, v in arguments.items() if v is not None}
        played: str = self._act(action(given) if action else [{"name": name, "arguments": given}])
        return played

    properties, required = parameters.get("properties") or {}, parameters.get("required") or []
    hints: Dict[str, Any] = {}
    kinds = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
    lines = [function.get("description") or name, "", "Args:"]
    for key in sorted(properties, key=lambda k: k not in required):
        hint = _hint(properties[key])
        hints[key] = hint if key in required else Optional[hint]
        default = inspect.Parameter.empty if key in required else None
        kinds.append(inspect.Parameter(key, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default, annotation=hints[key]))
        lines.append(f"    {key}: {_described(key, properties[key])}")
    hints["return"] = str
    lines += ["", "Returns:", "    What the environment answers."]
    method.__name__, method.__qualname__, method.__doc__ = name, name, "\n".join(lines)
    method.__annotations__ = hints
    method.__signature__ = inspect.Signature(kinds, return_annotation=str)  # type: ignore[attr-defined]
    return method


def _hint(schema: Mapping[str, Any]) -> Any:
    kind = schema.get("type")
    if kind == "array":
        return List[_hint(schema.get("items") or {})]  # type: ignore[misc]
    return _TYPES.get(kind if isinstance(kind, str) else "", str)


def _described(name: str, schema: Mapping[str, Any]) -> str:
    """The line of a docstring; transformers reads (choices: […]) as an enum."""
    text = " ".join(str(schema.get("description") or name.replace("_", " ")).split())
    return text + (f" (choices: {json.dumps(schema['enum'])})" if schema.get("enum") else "")
