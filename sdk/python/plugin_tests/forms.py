"""The environment of the tests whose actions are what a slot can say, and what it should not."""

import collections
import dataclasses
import math
import os
import random
import sys
import time

import merit_plugin
from merit_plugin import Features

try:
    import torch  # missing in the sandbox, where the code works without it
except ImportError:
    torch = None

print("printed before the handshake")
ROW = Features([1, 0.5, -2])


@dataclasses.dataclass
class Options:
    fail: str = ""

    def check(self):
        if self.fail == "check":
            yield merit_plugin.problem("fail", "must not be check", "leave it out")


class Text(str):
    pass


def outside():
    try:
        return open("/etc/hostname").read()
    except OSError:
        return ""


def connect():
    import socket

    socket.create_connection(("localhost", 1))


def numbers():
    import torch

    return torch.zeros(3)


def deep(n):
    return sum(deep(n - 1) for _ in range(1)) if n else 0


# What a turn may be: what each returns is set on it.
SAID = {
    "plain": lambda t: {},
    "unicode": lambda t: {"anchor": "größe ✓", "text": "Zug 1 → 2"},
    "bytes": lambda t: {"anchor": b"raw \xc3\xa9", "text": b"seen"},
    "empty": lambda t: {"anchor": "x", "text": ""},
    "packed": lambda t: {"features": ROW},
    "tuple": lambda t: {"features": (1, True, -2.5), "reward": 1},
    "iterator": lambda t: {"features": iter([0.1, 1e-45, 3e38]), "reward": True},
    "masked": lambda t: {"mask": [i == 0 for i in range(len(NAMES))], "reward": -0.5},
    "mask of bytes": lambda t: {"mask": b"\1" + bytes(len(NAMES) - 1)},
    "truthy": lambda t: {"invalid_action": 1, "truncated": [0], "mask": (2,) * len(NAMES)},
    "end": lambda t: {"terminated": True, "mask": [False] * len(NAMES)},
    "events": lambda t: t.tool("ferry", "left 🚢") or t.info("seen", {"a": [1, None]}) or t.metric("moves", 3),
    "fraction": lambda t: {"reward": 2**40 + 0.5},
    "whole": lambda t: {"reward": 10**12},
    # What is wrong with it ends the episode, with the same words in a program and in the sandbox.
    "nan": lambda t: {"reward": math.nan},
    "infinite": lambda t: {"features": [1, math.inf, 0]},
    "too large": lambda t: {"features": [1, 1e39, 0]},
    "short": lambda t: {"features": [1]},
    "no features": lambda t: {"features": None},
    "letters": lambda t: {"features": ["a", 0, 0]},
    "no action": lambda t: {"mask": bytes(len(NAMES))},
    "short mask": lambda t: {"mask": [True]},
    "twos": lambda t: {"mask": b"\2" * len(NAMES)},
    "number": lambda t: {"anchor": 7},
    "text of a class": lambda t: {"anchor": Text("a")},
    "latin": lambda t: {"anchor": b"\xff"},
    "surrogate": lambda t: {"anchor": "\ud800"},
    "late task": lambda t: t.task(id="no"),
    "raise": lambda t: {}["nothing"],
    "fault": lambda t: (_ for _ in ()).throw(merit_plugin.Fault("as asked", hint="do not ask")),
}
# What is not the same in two processes: in the sandbox it is the same everywhere.
IMPURE = {
    "impure": lambda t: {"anchor": f"{id(object())} {hash('x')} {time.time()} {os.urandom(4)} {random.random()} {set('abcdef')} {time.perf_counter()}"},
}
# What the sandbox refuses, and what breaks its interpreter.
REFUSED = {
    "open": lambda t: outside() and None,
    "connect": lambda t: connect(),
    "torch": lambda t: numbers(),
    "exit": lambda t: sys.exit("enough"),
    "memory": lambda t: {"anchor": "x" * (1 << 30)},
    "deep": lambda t: deep(10_000),
    "endless": lambda t: collections.deque(iter(int, 1), maxlen=0),
}
NAMES = (*SAID, *IMPURE, *REFUSED)


class Forms(merit_plugin.Environment):
    actions = NAMES
    feature_shape = (3,)
    system = "Say it."
    tasks = 3
    tools = ({"type": "function", "function": {"name": "ferry", "parameters": {"type": "object"}}},)

    def __init__(self, options, split):
        super().__init__(options, split)
        if options.fail == "init":
            raise RuntimeError("as asked")
        if options.fail == "refuse":
            raise merit_plugin.Fault("no such river", kind="refused", hint="ask for another")

    def reset(self, seed, turn):
        self.seed = seed
        turn.task([{"role": "user", "content": f"Task {seed % 3}"}], ground_truth=seed % 3, id=f"task-{seed % 3}")
        self.say(turn, {})

    def step(self, action, turn):
        self.say(turn, {**SAID, **IMPURE, **REFUSED}[self.actions[action]](turn) or {})

    def say(self, turn, what):
        turn.anchor, turn.features = str(self.seed), [0.0, 1.0, float(self.seed % 2)]
        for name, value in what.items():
            setattr(turn, name, value)

    def render(self):
        return f"seed {self.seed}"


if __name__ == "__main__":
    merit_plugin.serve(Forms, name="forms", version="1.2", summary="Says it in every form.", options=Options)
