"""Natively and in the sandbox the same, on every form of test."""

import json
from pathlib import Path

import livecodebench
import pytest
from hostile import HOSTILE, PROBLEM, row

HERE = Path(__file__).parent


@pytest.mark.merit_data("reward.py", "fixtures/forms.jsonl", parameters={"fuel": 50_000_000})
def test_forms(merit_result):
    assert merit_result.outcome in ("scored", "invalid")


def test_parameters(merit_reward):
    said = [{"role": "assistant", "content": "```python\nimport os\ndef f(x):\n    return x if x < 3 else os._exit(0)\n```"}]
    tests = [f"assert f({x}) == {x if x else 1}" for x in range(4)]
    assert merit_reward("reward.py")(said, tests=tests).score == 0.0
    assert merit_reward("reward.py", {"all_or_nothing": False})(said, tests=tests).outcome == "invalid"
    assert merit_reward("reward.py", {"all_or_nothing": False, "stopped": "zero"})(said, tests=tests).score == 0.5
    assert merit_reward("reward.py", {"stopped": "zero"})(said, tests=tests[3:]).score == 0.0
    assert merit_reward("reward.py", {"stopped": "never"})(said, tests=tests).outcome == "guest_error"


def test_no_hostile_solution_passes():
    """The fixtures are those of hostile.py; what they must say is held by their golden results."""
    cases = [json.loads(line) for line in (HERE / "fixtures/hostile.jsonl").read_text().splitlines()]
    assert cases == [row(name, PROBLEM, h.source) for name, h in HOSTILE.items()]
    results = [json.loads(line) for line in (HERE / "fixtures/hostile.expected.jsonl").read_text().splitlines()]
    assert [r["id"] for r in results] == list(HOSTILE)
    assert {r["score"] for r in results} == {None, 0}


def test_livecodebench():
    """Of the verdicts of LiveCodeBench's runner all are Merit's too, but those that the table of differences explains."""
    cases = [json.loads(line) for line in (HERE / "fixtures/livecodebench.jsonl").read_text().splitlines()]
    made = [livecodebench.row(*r) for r in livecodebench.rows()]
    assert len(made) >= 200
    assert [{k: v for k, v in c.items() if k != "expected"} for c in cases] == made
    results = [json.loads(line) for line in (HERE / "fixtures/livecodebench.expected.jsonl").read_text().splitlines()]
    differ = {c["id"] for c, r in zip(cases, results) if c["expected"] != r["score"]}
    right = {c["id"] for c in cases if c["expected"] == 1.0}
    assert [name for name in differ if not livecodebench.difference(name)] == []
    assert len(right) > 80 and len(cases) - len(right) > 80
    page = (HERE / "README.md").read_text()
    for end, (who, why) in livecodebench.DIFFERENCES.items():
        assert f"| {end.lstrip(':, ')} | {sum(name.endswith(end) for name in differ)} | {who} | {why} |" in page


def test_every_form_of_row(merit_reward):
    """Rows of data sets as they are: right solutions pass, wrong ones fail, attacks do not pass, and what is not understood is named."""
    solves = merit_reward("reward.py", {"fuel": 50_000_000})
    cases = [json.loads(line) for line in (HERE / "fixtures/problems.jsonl").read_text().splitlines()]
    results = [json.loads(line) for line in (HERE / "fixtures/problems.expected.jsonl").read_text().splitlines()]
    for case, golden in zip(cases, results):
        expected, says = case["expected"], case["says"]
        assert (golden["score"], says in golden["reason"]) == (expected, True), case["id"]
        if case["id"].startswith("attack"):
            continue  # natively memory and output have other limits
        about = case.pop("metadata", {})
        columns = {k: v for k, v in case.items() if k not in ("id", "messages", "expected", "says")}
        result = solves(case["messages"], metadata=json.loads(about) if isinstance(about, str) else about, **columns)
        assert (result.outcome == "invalid") if expected is None else (result.score == expected), case["id"]
        assert says in result.reason, case["id"]


def test_shapes_of_solutions():
    """Solutions as language models write them, with what a judge says of them; the golden results are the sandbox's."""
    cases = [json.loads(line) for line in (HERE / "fixtures/shapes.jsonl").read_text().splitlines()]
    results = [json.loads(line) for line in (HERE / "fixtures/shapes.expected.jsonl").read_text().splitlines()]
    assert len(cases) >= 90
    for case, golden in zip(cases, results, strict=True):
        assert (golden["id"], golden["score"], case["says"] in golden["reason"]) == (case["id"], case["expected"], True)
