"""Every adapter, with a reward that fails in every way: no trainer gets a 0 that nobody chose.

TRL takes None (test_trl.py), and verifiers 0.4 is elsewhere (test_verifiers.py). open-instruct and miles publish no package, so what
they do with a reward is restated here from open_instruct/ground_truth_utils.py and miles/utils/types.py of August 2026.
"""

import asyncio
import dataclasses
import enum
import math
import sys
import types

import pytest
import verifiers as vf
from eval_protocol.models import EvaluationRow, Message
from merit_rl import OUTCOMES, Halt, eval_protocol, miles, open_instruct, openrlhf, skyrl_gym, slime, verifiers, verl
from merit_rl._outcomes import FORMS
from merit_rl.errors import Unavailable
from merit_rl.results import result

FAILURES = [o for o in OUTCOMES if o != "scored"]


class Failing:
    """A reward all of whose evaluations end in one way; "away" is a server that does not answer."""

    compares, __name__ = False, "failing"

    def __init__(self, outcome):
        self.outcome = outcome

    def evaluate(self, rows):
        if self.outcome == "away":
            raise Unavailable("nobody answers: why")
        return [result({"id": r["id"], "outcome": self.outcome, "score": 0.5, "reason": "why"}) for r in rows]


@dataclasses.dataclass
class Sample:
    """The fields of a sample of slime and miles that a reward touches."""

    class Status(enum.Enum):
        COMPLETED = "completed"
        ABORTED = "aborted"
        FAILED = "failed"

    index: int = 0
    group_index: "int | None" = None
    prompt: str = "2 + 2?"
    response: str = "4"
    label: str = "4"
    metadata: dict = dataclasses.field(default_factory=dict)
    remove_sample: bool = False
    status: Status = Status.COMPLETED


@pytest.fixture(autouse=True)
def restated(monkeypatch):
    """open-instruct's classes: a verifier is a subclass that it finds and makes with a configuration."""

    @dataclasses.dataclass
    class VerificationResult:
        score: float
        cost: float = 0.0
        reasoning: "str | None" = None

    class VerifierFunction:
        def __init__(self, name, weight=1.0, verifier_config=None):
            self.name, self.weight, self.verifier_config = name, weight, verifier_config

    module = types.ModuleType("open_instruct.ground_truth_utils")
    module.VerificationResult, module.VerifierFunction = VerificationResult, VerifierFunction
    monkeypatch.setitem(sys.modules, "open_instruct", types.ModuleType("open_instruct"))
    monkeypatch.setitem(sys.modules, "open_instruct.ground_truth_utils", module)


def of_open_instruct(reward, **chosen):
    made = open_instruct.verifier("merit", reward, **chosen)
    found = made.__mro__[1].__subclasses__()[-1]  # as build_all_verifiers finds it
    assert found is made
    verify = found({"args": None})
    assert (verify.name, verify.weight) == ("merit", 1.0)
    asked = verify.async_call(tokenized_prediction=[1], prediction="4", label="4", query="2 + 2?", rollout_state={"done": True})
    return asyncio.run(asyncio.wait_for(asked, 60)).score


def of_rubric(reward, **chosen):
    message = [{"role": "user", "content": "2 + 2?"}]
    state = vf.State(prompt=message, completion=[{"role": "assistant", "content": "4"}], answer="4", task="t", info={}, trajectory=[], timing={"scoring_ms": 0.0, "total_ms": 0.0})
    asyncio.run(vf.Rubric(funcs=[verifiers.rubric_reward(reward, **chosen)]).score_rollout(state))
    if state.get("error") is not None:
        assert isinstance(state["error"], vf.SandboxError) and "why" in str(state["error"])
    return state["reward"]


def of_eval_protocol(reward):
    rows = [EvaluationRow(messages=[Message(role="user", content="2 + 2?"), Message(role="assistant", content="4")])]
    [row] = eval_protocol.evaluated_all(rows, reward)
    return row.evaluation_result


ADAPTERS = {
    "verl": lambda r, **chosen: verl.compute_score("sums", "4", "4", reward=r, **chosen)["score"],
    "OpenRLHF": lambda r, **chosen: openrlhf.function(r, **chosen)(["2 + 2?4"], ["2 + 2?"], ["4"])["scores"].tolist()[0],
    "SkyRL-gym": lambda r, on_unscored="raise": skyrl_gym.score(r, "2 + 2?", "4", {}, on_unscored),
    "slime": lambda r, **chosen: asyncio.run(slime.function(r, **chosen)(None, Sample())),
    "miles": lambda r, **chosen: asyncio.run(miles.function(r, **chosen)(None, Sample())),
    "open-instruct": of_open_instruct,
    "verifiers' Rubric": of_rubric,
}


@pytest.mark.parametrize("outcome", [*FAILURES, "away"])
@pytest.mark.parametrize("trainer", ADAPTERS)
def test_never_zero(trainer, outcome):
    """Promise: where nobody chose a number, a failure stops the step, or is NaN beside an error that is retried."""
    try:
        got = ADAPTERS[trainer](Failing(outcome))
    except Halt as e:
        assert "why" in str(e)
    else:
        assert trainer == "verifiers' Rubric" and math.isnan(got)
        assert outcome == "away" or FORMS[outcome].cause == "infrastructure"


@pytest.mark.parametrize("outcome", FAILURES)
@pytest.mark.parametrize("trainer", ADAPTERS)
def test_the_number_that_was_chosen(trainer, outcome):
    """Promise: where an operator chose a number, that is what the trainer gets, and a score stays as it is."""
    assert ADAPTERS[trainer](Failing(outcome), on_unscored=-1.0) == -1.0
    assert ADAPTERS[trainer](Failing("scored"), on_unscored=-1.0) == 0.5


@pytest.mark.parametrize("outcome", FAILURES)
def test_eval_protocol(outcome):
    """Promise: eval-protocol, whose score must be a number, is told that it is not valid, and why."""
    got = of_eval_protocol(Failing(outcome))
    assert (got.is_score_valid, got.error) == (False, f"{outcome}: why")


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_samples(outcome):
    """Promise: a sample without a score leaves the loss of slime and miles, and miles knows whether to play it again; slime's status stays, because it would go on generating an aborted sample."""
    of_slime, of_miles = Sample(), Sample()
    for trainer, sample in ((slime, of_slime), (miles, of_miles)):
        asyncio.run(trainer.function(Failing(outcome), on_unscored=-1.0)(None, [sample]))
        assert sample.remove_sample == (outcome != "scored")
    assert (of_slime.status.value, of_miles.status.value) == ("completed", FORMS[outcome].miles)


def test_examples(example):
    """Promise: the files of the docs work: a sample of miles, and a verifier of open-instruct."""
    custom_rm, right, unlabelled = example("miles_reward").custom_rm, Sample(), Sample(label=None)
    assert asyncio.run(custom_rm(None, [right, unlabelled])) == [1.0, 0.5]
    assert (right.status.value, unlabelled.status.value) == ("completed", "failed")
    verify = example("open_instruct_reward").Merit()
    assert [verify([1], said, "4", query="2 + 2?").score for said in ("It is 4", "It is 5")] == [1.0, 0.0]
    with pytest.raises(Halt, match="no ground truth"):
        verify([1], "4", None)
