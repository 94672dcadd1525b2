"""Natively and in the sandbox the same, on every form of test."""

import json
from pathlib import Path

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
