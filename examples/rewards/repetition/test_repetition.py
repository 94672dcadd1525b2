"""Natively and in the sandbox the same, on every fixture and on the data.

The fixtures of ``compression`` need zlib itself natively: what some systems have in its place compresses a little differently.
"""

import pytest


@pytest.mark.merit_data("reward.py", "fixtures/texts.jsonl")
def test_fixtures(merit_result):
    assert merit_result.outcome in ("scored", "invalid")


@pytest.mark.merit_data("reward.py", "data.jsonl")
def test_data(merit_result):
    assert -1 <= merit_result.score <= 0


def test_wrong_parameters_are_no_score(merit_reward):
    said = [{"role": "assistant", "content": "x"}]
    for wrong in ({"measure": "tokens"}, {"size": 0}, {"penalty": 1}, {"of": "first"}, {"measure": "compression", "usual": 0}):
        assert merit_reward("reward.py", wrong)(said).outcome == "guest_error"
