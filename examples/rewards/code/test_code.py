"""Natively and in the sandbox the same, on every form of test."""

import pytest


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
