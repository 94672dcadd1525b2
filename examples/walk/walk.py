"""Walk out of a corridor whose exit is on the right: a class with reset and step, and
nothing else."""

import random


# Of four neighboring cells, two begin episodes of training, and one each those of validation
# and test.
STARTS = {"train": (0, 3), "validation": (1,), "test": (2,)}


class Walk:
    """Walk out of a corridor."""

    actions = ("left", "right")
    max_steps = 48

    def __init__(self, length=24, split="train"):
        self.length = length
        self.starts = [at for at in range(length - 1) if at % 4 in STARTS[split]]

    def reset(self, seed=None):
        self.at, self.steps = random.Random(seed).choice(self.starts), 0
        return self.look(), {}

    def step(self, action):
        self.at, self.steps = max(0, self.at + 2 * action - 1), self.steps + 1
        out = self.at == self.length - 1
        return self.look(), float(out), out, self.steps == self.max_steps, {}

    def look(self):
        return [float(i == self.at) for i in range(self.length)]

    def render(self):
        return "." * self.at + "@" + "." * (self.length - 1 - self.at)
