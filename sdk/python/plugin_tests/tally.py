"""The policy of the tests: it answers with what it was asked, and its weights are a sum."""

import asyncio
import dataclasses
import json
import time

import merit_plugin
from merit_plugin import Decision, Fault, Sequence, Spec, Stats, problem

print("printed before the handshake")


@dataclasses.dataclass
class Inner:
    rate: float = 0.5


@dataclasses.dataclass
class Options:
    start: int = 0
    words: list[str] = dataclasses.field(default_factory=list)
    inner: Inner = dataclasses.field(default_factory=Inner)

    def check(self):
        if self.start < 0:
            yield problem("start", f"must not be negative, is {self.start}", "0 is a good start")


class Tally(merit_plugin.Policy):
    def __init__(self, options: Options, setup: merit_plugin.Setup):
        super().__init__(options, setup)
        self.sum = float(options.start)

    async def describe(self) -> Spec:
        if "refuse" in self.options.words:
            raise Fault("refused twice", boundary="model", kind="missing", retry=True)
        return Spec(model="tally", context=77)

    async def act(self, request) -> Decision:
        match request.text:
            case "slow":
                await asyncio.sleep(60)
            case "defect":
                raise KeyError("nothing")
            case "fault":
                raise Fault("not now", boundary="model", kind="exhausted", where="there", hint="wait", retry=True)
            case "two":
                return Decision(choice=1, text="x")
            case "nan":
                return Decision(raw="x", info={"bad": float("nan")})
        said = json.dumps([request.messages, list(request.features), list(request.mask), request.seed, request.greedy, list(request.tokens), request.covered])
        return Decision(raw=said, log_prob=-0.5, prompt=[1, 2], tokens=[3], log_probs=[-0.5], value=self.sum, info={"print": "ed"})

    def learn(self, sequences: list[Sequence], seed: int) -> Stats:
        self.sum += sum(a for s in sequences for a in s.advantage)
        self.version += 1
        if seed == 13:
            return Stats(loss=float("inf"))
        return Stats(loss=self.sum, sequences=len(sequences), tokens=sum(sum(s.sampled) for s in sequences))

    def save(self, name: str) -> bytes:
        return json.dumps([name, self.version, self.sum]).encode()

    def load(self, state: bytes) -> None:
        _, self.version, self.sum = json.loads(state) if state else ("", 0, float(self.options.start))

    def close(self) -> None:
        time.sleep(0.01)


if __name__ == "__main__":
    merit_plugin.serve(Tally, name="tally", version="1.2.3", summary="Adds up.", options=Options)
