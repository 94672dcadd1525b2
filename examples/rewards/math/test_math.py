"""Natively and in the sandbox the same, on every fixture. The data need more than the default fuel: math_test.go compares them."""

import pytest


@pytest.mark.merit_data(".", "fixtures/answers.jsonl")
def test_fixtures(merit_result):
    assert merit_result.outcome in ("scored", "invalid")


def test_letters(merit_reward):
    said = [{"role": "assistant", "content": "The answer is B."}]
    score = merit_reward(".", {"extract": ["string"]})
    assert score(said, ground_truth="B").score == 1.0
    assert score(said, ground_truth="C").score == 0.0
    assert score(said, ground_truth="see below").outcome == "invalid"
