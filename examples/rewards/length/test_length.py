"""Natively and in the sandbox the same, on every fixture and on the data."""

import pytest


@pytest.mark.merit_data("reward.py", "fixtures/curves.jsonl")
def test_fixtures(merit_result):
    assert merit_result.outcome in ("scored", "invalid")


@pytest.mark.merit_data("reward.py", "data.jsonl", parameters={"curve": "cosine", "maximum": 1000})
def test_data(merit_result):
    assert merit_result.scored


def test_wrong_parameters_are_no_score(merit_reward):
    said = [{"role": "assistant", "content": "x"}]
    for wrong in ({"curve": "square"}, {"curve": "overlong"}, {"unit": "bytes"}, {"minimum": 3, "maximum": 2}):
        assert merit_reward("reward.py", wrong)(said).outcome == "guest_error"
