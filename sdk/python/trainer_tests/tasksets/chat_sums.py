"""A taskset of verifiers 0.4 of one turn: sums, whose task has a reward with a weight and a metric."""

import verifiers.v1 as vf

__all__ = ["Sums"]


class Data(vf.TaskData):
    answer: str


class Sum(vf.Task[Data]):
    @vf.reward(weight=2.0)
    async def right(self, trace) -> float:
        return float(trace.last_reply.strip() == self.data.answer)

    @vf.metric
    async def length(self, trace) -> float:
        return float(len(trace.last_reply))


class Config(vf.TasksetConfig):
    count: int = 20


class Sums(vf.Taskset[Sum, Config]):
    def load(self):
        for i in range(self.config.count):
            yield Sum(Data(prompt=f"{i} + {i}?", answer=str(2 * i), system_prompt="Answer with a number."), self.config.task)
