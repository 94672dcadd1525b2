"""The environment of the tests that changes what the host reads in the sandbox."""

import sys

import merit_plugin

guest, interpreter = sys.modules["merit_plugin._process"], sys.modules["merit_reward._sandbox"]


def said(turn, events):
    turn._events = events


# What each changes.
FORGED = {
    "no scratch": lambda t: guest.SCRATCH.clear(),
    "many features": lambda t: guest.SCRATCH.__setitem__(slice(0, 8), b"\xff" * 8),
    "many actions": lambda t: guest.SCRATCH.__setitem__(slice(0, 8), b"\2\0\0\0\0\0\0\x40"),
    "a number as fault": lambda t: guest.FAULT.__setitem__(0, 7),
    "a text as fault": lambda t: guest.FAULT.__setitem__(0, "text"),
    "a module as fault": lambda t: guest.FAULT.__setitem__(0, guest),
    "unknown events": lambda t: said(t, [(99, b"y", b"z")]),
    "short events": lambda t: said(t, [(1, b"y")] * 20),
    "no events": lambda t: said(t, 7),
    "no anchor": lambda t: delattr(t, "anchor"),
    "nothing": lambda t: [delattr(t, name) for name in ("text", "mask", "reward", "features")],
    "exit": lambda t: __import__("posix")._exit(3),
    # It shows in the next step.
    "no calls": lambda t: guest.CALLS.clear(),
    "no arguments": lambda t: guest.ARGUMENTS.clear(),
    "numbers as arguments": lambda t: guest.ARGUMENTS.__setitem__(slice(None), range(8)),
    "no fault": lambda t: guest.FAULT.clear(),
    "no buffer": lambda t: interpreter.BUFFER.clear(),
    "no answer": lambda t: interpreter.ANSWER.clear(),
}


class Forger(merit_plugin.Environment):
    actions = (*FORGED, "nothing wrong")
    feature_shape = (2,)

    def reset(self, seed, turn):
        turn.anchor, turn.features = "a", [0, 0]

    def step(self, action, turn):
        turn.anchor, turn.features = "b", [0, 1]
        if action < len(FORGED):
            FORGED[self.actions[action]](turn)


if __name__ == "__main__":
    merit_plugin.serve(Forger, name="forger", version="1", summary="Changes what the host reads.")
