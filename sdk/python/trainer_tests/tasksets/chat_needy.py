"""A taskset of verifiers 0.4 that needs more than a chat."""

import verifiers.v1 as vf

__all__ = ["Needy"]


class Boxed(vf.Task[vf.TaskData]):
    NEEDS_CONTAINER = True

    @vf.reward
    async def solved(self, runtime) -> float:
        return float((await runtime.run(["cat", "answer"], {})).stdout == "4")


class Needy(vf.Taskset[Boxed, vf.TasksetConfig]):
    def load(self):
        return [Boxed(vf.TaskData(prompt="Write 4 to the file answer.", image="python:3.12"), self.config.task) for _ in range(20)]
