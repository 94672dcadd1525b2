"""Natively and in the sandbox the same, on every fixture and on the data."""

import pytest


@pytest.mark.merit_data("reward.py", "fixtures/pairs.jsonl")
def test_fixtures(merit_result):
    assert merit_result.outcome in ("scored", "invalid")


@pytest.mark.merit_data("reward.py", "data.jsonl", parameters={"measure": "chrf"})
def test_data(merit_result):
    assert 0 <= merit_result.score <= 1


def test_long_texts_are_linear_enough(merit_reward):
    """6,000 words against 6,000: a table of 36 million cells would not do."""
    words = " ".join(f"w{i * i % 997}" for i in range(6_000))
    both = merit_reward("reward.py")
    assert both([{"role": "assistant", "content": words}], ground_truth=words).score == 1.0


def test_wrong_parameters_are_no_score(merit_reward):
    said = [{"role": "assistant", "content": "x"}]
    for wrong in ({"measure": "meteor"}, {"value": "accuracy"}):
        assert merit_reward("reward.py", wrong)(said, ground_truth="x").outcome == "guest_error"
