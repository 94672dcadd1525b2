"""A maze as tables: what a plug-in in Python costs beside an environment that costs
little. With the argument `slots` one slot is written, with `vector` all of them.

The board is the same for every seed; the seed says where an episode starts.
"""

import functools
import random
import sys

import merit_plugin

SIDE, LIMIT = 8, 50
GOAL = SIDE * SIDE - 1
ACTIONS = ("up", "down", "left", "right")


@functools.cache
def table():
    """Where each action leads from each field, and how each field looks."""
    walls = set(random.Random(1).sample(range(1, GOAL), SIDE))

    def moved(at, action):
        row, column = at // SIDE + (action == 1) - (action == 0), at % SIDE + (action == 3) - (action == 2)
        to = row * SIDE + column
        return to if 0 <= row < SIDE and 0 <= column < SIDE and to not in walls else at

    leads = [[moved(at, a) for a in range(len(ACTIONS))] for at in range(SIDE * SIDE)]
    starts = [at for at in range(GOAL) if at not in walls and len(set(leads[at])) > 1]
    anchors = [b"%d,%d" % divmod(at, SIDE) for at in range(SIDE * SIDE)]
    places = [(at // SIDE / (SIDE - 1), at % SIDE / (SIDE - 1)) for at in range(SIDE * SIDE)]
    return leads, starts, anchors, places


class Slot(merit_plugin.Environment):
    actions, feature_shape, max_steps = ACTIONS, (2,), LIMIT

    def __init__(self, options, split):
        super().__init__(options, split)
        self.leads, self.starts, self.anchors, places = table()
        self.features = [merit_plugin.Features(p) for p in places]

    def reset(self, seed, turn):
        self.at, self.left = at, _ = self.starts[seed % len(self.starts)], LIMIT
        turn.anchor, turn.features = self.anchors[at], self.features[at]

    def step(self, action, turn):
        self.at = at = self.leads[self.at][action]
        self.left -= 1
        turn.anchor, turn.features = self.anchors[at], self.features[at]
        if at == GOAL:
            turn.terminated, turn.reward = True, 1.0
        elif not self.left:
            turn.truncated = True


def vector():
    import numpy as np

    class Together(merit_plugin.Vector):
        actions, feature_shape, max_steps = ACTIONS, (2,), LIMIT

        def __init__(self, options, split, slots):
            super().__init__(options, split, slots)
            leads, starts, anchors, places = table()
            self.leads, self.starts, self.anchors = np.array(leads, np.int32), np.array(starts, np.int32), np.array(anchors)
            self.places = np.array(places, np.float32)
            self.at, self.left = np.zeros(slots, np.int32), np.zeros(slots, np.int32)

        def reset(self, rows, seeds, turns):
            self.at[rows], self.left[rows] = self.starts[seeds % np.uint64(len(self.starts))], LIMIT
            self.look(turns)

        def step(self, rows, actions, turns):
            self.at[rows] = at = self.leads[self.at[rows], actions]
            self.left[rows] -= 1
            turns.terminated[rows] = won = at == GOAL
            turns.truncated[rows] = ~won & (self.left[rows] == 0)
            turns.reward[rows] = won
            self.look(turns)

        def look(self, turns):
            turns.anchor = self.anchors[self.at]
            if turns.wants_features:
                turns.features = self.places[self.at]

    return Together


if __name__ == "__main__":
    served = vector() if sys.argv[1:] == ["vector"] else Slot
    merit_plugin.serve(served, name="table", version="1.0.0", summary="A maze as tables.")
