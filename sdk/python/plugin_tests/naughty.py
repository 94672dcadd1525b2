"""The environment of the tests that does what it should not."""

import os
import sys

import merit_plugin

print("printed before the handshake")


class Naughty(merit_plugin.Environment):
    def reset(self, seed, turn):
        turn.anchor = str(seed)

    def step(self, action, turn):
        turn.anchor = action
        if action == "print":
            print("said on stdout")
        elif action == "raise":
            raise KeyError("nothing")
        elif action == "leave":
            sys.exit("enough")
        elif action == "close":
            os.close(1), os.close(0)


if __name__ == "__main__":
    merit_plugin.serve(Naughty, name="naughty", version="1", summary="Does what it should not.")
