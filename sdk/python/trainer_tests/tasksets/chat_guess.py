"""An infinite taskset of verifiers 0.4 of many turns, with an environment of its own: a number is to be guessed."""

import itertools

import verifiers.v1 as vf

__all__ = ["Guess", "Guesses"]


class Data(vf.TaskData):
    number: int


class Number(vf.Task[Data]):
    pass


class GuessConfig(vf.EnvConfig):
    player: vf.AgentConfig = vf.AgentConfig()


class Guess(vf.Env[GuessConfig]):
    async def run(self, task, agents):
        async with agents.player.interaction(task) as interaction:
            segment, turns = await interaction.turn(), 1
            while not segment.terminated and segment.last_reply != str(task.data.number) and turns < 4:
                segment, turns = await interaction.turn("higher" if int(segment.last_reply) < task.data.number else "lower"), turns + 1
        interaction.trace.record_reward("guessed", segment.last_reply == str(task.data.number), 1 / turns)


class Guesses(vf.Taskset[Number, vf.TasksetConfig]):
    INFINITE = True

    def load(self):
        return (Number(Data(prompt=f"Guess number {i}.", number=i % 7), self.config.task) for i in itertools.count())
