"""Natively and in the sandbox the same, on every fixture and on the data."""

import pytest


@pytest.mark.merit_data(".", "fixtures/calls.jsonl")
def test_fixtures(merit_result):
    assert merit_result.outcome in ("scored", "invalid")
    if merit_result.step_outputs:
        steps = sum(s["base_reward"] for s in merit_result.step_outputs)
        assert steps == pytest.approx(merit_result.score), "the steps say together what the score says"


@pytest.mark.merit_data(".", "bfcl.jsonl", parameters={"arguments": "one_of", "loose": True, "exact": True})
def test_bfcl(merit_result):
    assert merit_result.scored


@pytest.mark.merit_data(".", "taubench.jsonl", parameters={"partial": True})
def test_tau_bench(merit_result):
    assert 0 <= merit_result.score <= 1


def test_wrong_expectations_are_no_score(merit_reward):
    said = [{"role": "assistant", "content": "x"}]
    both = merit_reward(".")
    for wrong in ([{"arguments": {}}], [{"name": "f", "arguments": "{"}], ["f"]):
        assert both(said, ground_truth=wrong).outcome == "guest_error"
    assert merit_reward(".", {"order": "strict"})(said, ground_truth=[]).outcome == "guest_error"
