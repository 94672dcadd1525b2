"""Two agents of plain Python that record what they do: see docs/traces.md."""

import asyncio

from merit_rl.trace import ChatMixin, OrchestratorMixin, Tracer

tracer = Tracer(enable=True)  # to merit traces collect, where MERIT_COLLECT says, else on this machine


@tracer.tool()
def look_up(country):
    return {"Germany, 1949": "Bonn"}[country]


@tracer.chat(model="small")
def ask(messages):
    return "Germany, 1949"


@tracer.agent("planner")
async def plan(task):
    return look_up(ask([{"role": "user", "content": f"Which country is meant? {task}"}]))


class Model:
    """Stands for an agent class that was there before."""

    async def chat(self, messages):
        for word in ("Bo", "nn"):
            yield word


class Solver(ChatMixin, Model, tracer=tracer, agent="solver", model="small"):
    pass


class Jury(OrchestratorMixin, tracer=tracer):
    async def decide(self, task):
        with self.recording(task="capital", agent="jury", ground_truth="Bonn"):
            self.record_answer("planner", await plan(task))
            solver = Solver()
            said = "".join([word async for word in solver.chat([{"role": "user", "content": task}])])
            self.record_answer("solver", said)
            self.record_vote("solver", "planner", reason="the same", round=1)
            self.record_end("planner", consensus=True, text=said, round=1)
            tracer.reward("exact", float(said == "Bonn"))
            return said


if __name__ == "__main__":
    print(asyncio.run(Jury().decide("the capital of West Germany?")))
