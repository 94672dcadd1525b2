"""Natively and in the sandbox the same, on every fixture and on the data."""

import pytest


@pytest.mark.merit_data(".", "fixtures/forms.jsonl")
def test_fixtures(merit_result):
    assert merit_result.outcome in ("scored", "invalid")


@pytest.mark.merit_data(".", "suite.jsonl")
def test_suite(merit_result):
    """A schema that the validator cannot use is an error, and no score."""
    assert merit_result.scored or merit_result.outcome == "guest_error"


def test_wrong_parameters_are_no_score(merit_reward):
    said = [{"role": "assistant", "content": "1"}]
    for wrong in ({}, {"pattern": "("}, {"schema": {"type": "nonsense"}}, {"schema": {"$ref": "http://example.com/schema"}}):
        assert merit_reward(".", wrong)(said).outcome == "guest_error"
