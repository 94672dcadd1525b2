"""How an author tests: the functions as they are, and both ways of running them."""

import pytest
import shapes


def said(text):
    return [{"role": "user", "content": "2+2?"}, {"role": "assistant", "content": text}]


def test_natively():
    scores = shapes.tags(["<answer>4"], required_tags=["think", "answer"])
    assert scores == [0.5]


@pytest.mark.parametrize("text, outcome, score", [(r"\boxed{4}", "scored", 1.0), (r"\boxed{5}", "scored", 0.0), ("4", "invalid", None)])
def test_in_both(merit_reward, text, outcome, score):
    result = merit_reward("shapes.py:boxed")(said(text), ground_truth="4")
    assert (result.outcome, result.score) == (outcome, score)


@pytest.mark.merit_data("shapes.py:tags", "tags.jsonl", parameters={"required_tags": ["think", "answer"]})
def test_data(merit_result):
    assert merit_result.scored
