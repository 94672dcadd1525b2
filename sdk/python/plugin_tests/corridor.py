import dataclasses
import random

import merit_plugin


@dataclasses.dataclass
class Options:
    length: int = 5  # fields of the corridor

    def check(self):
        if self.length < 2:
            yield merit_plugin.problem("length", f"must be at least 2, not {self.length}", "5 is a good start")


class Corridor(merit_plugin.Environment):
    actions = ("left", "right")
    system = "You are in a dark corridor. Its right end is the way out. Answer with left or right."

    def __init__(self, options, split):
        super().__init__(options, split)
        self.feature_shape, self.max_steps = (options.length,), 4 * options.length

    def reset(self, seed, turn):
        self.at = random.Random(f"{self.split} {seed}").randrange(self.options.length - 1)
        self.steps = 0
        self.look(turn)

    def step(self, action, turn):
        at = min(max(self.at + (1 if action == 1 else -1), 0), self.options.length - 1)
        turn.invalid_action = at == self.at
        self.at, self.steps = at, self.steps + 1
        turn.terminated = at == self.options.length - 1
        turn.truncated = not turn.terminated and self.steps == self.max_steps
        turn.reward = 1.0 if turn.terminated else 0.0
        if turn.terminated:
            turn.metric("steps", self.steps)
        self.look(turn)

    def look(self, turn):
        turn.anchor = str(self.at)
        turn.text = f"You are {self.at} steps from the wall."
        turn.features = [float(i == self.at) for i in range(self.options.length)]

    def snapshot(self):
        return bytes([self.at, self.steps])

    def restore(self, state):
        if len(state) != 2:
            raise ValueError("is no state of this environment")
        self.at, self.steps = state


if __name__ == "__main__":
    merit_plugin.serve(Corridor, name="corridor", version="1.0.0", summary="Walk out of a corridor.", options=Options)
