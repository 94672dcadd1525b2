"""Natively and in the sandbox the same; parts from other folders; and from a trainer."""

import json
import shutil
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.mark.merit_data(".", "fixtures/parts.jsonl")
def test_fixtures(merit_result):
    assert merit_result.outcome in ("scored", "invalid")


@pytest.mark.merit_data(".", "data.jsonl")
def test_data(merit_result):
    parts = {name: merit_result.metrics[name]["score"] for name in ("right", "brief", "shown")}
    assert merit_result.score == pytest.approx(parts["right"] + 0.2 * parts["brief"] + 0.1 * parts["shown"])


@pytest.fixture
def together(tmp_path):
    """The folder that the README describes."""
    for source, name in (
        ("mix.py", "mix.py"), ("together.py", "reward.py"), ("../length/reward.py", "length.py"), ("../repetition/reward.py", "repetition.py"),
    ):
        shutil.copy(HERE / source, tmp_path / name)
    return tmp_path


def test_parts_of_other_folders(merit_reward, together):
    both = merit_reward(together)
    result = both([{"role": "assistant", "content": "so it is 4 #### 4"}], ground_truth="4")
    assert result.score == 1.0
    assert result.metrics["length/length"]["score"] == 17
    result = both([{"role": "assistant", "content": "no no no no no no no no"}], ground_truth="4")
    assert result.score == pytest.approx(-0.5 * 0.8)


def test_steps_and_missing_scores(merit_reward, tmp_path):
    shutil.copy(HERE / "mix.py", tmp_path)
    (tmp_path / "reward.py").write_text(
        "from merit_reward import StepOutput\nfrom mix import Part, mix\n"
        "def steps(messages, **k): return {'score': 1, 'step_outputs': [StepOutput(step_index=0, base_reward=1)]}\n"
        "def flat(messages, **k): return 0.5\n"
        "def none(messages, **k): return {'score': None, 'is_score_valid': False, 'reason': 'nothing'}\n"
        "def broken(messages, **k): return {'score': 0, 'error': 'it broke'}\n"
        "def reward(messages, last='flat', without=None, **k):\n"
        "    return mix({'steps': Part(2, steps), 'last': Part(1, globals()[last], without=without)}, messages)\n"
    )
    said = [{"role": "assistant", "content": "a"}, {"role": "user", "content": "b"}, {"role": "assistant", "content": "c"}]
    both = merit_reward(tmp_path)
    result = both(said)
    assert (result.score, [(s["step_index"], s["base_reward"]) for s in result.step_outputs]) == (2.5, [(0, 2), (1, 0.5)])
    assert both(said, last="none").outcome == "invalid"
    assert both(said, last="none", without=0.25).score == 2.25
    assert both(said, last="broken").outcome == "guest_error"


@pytest.mark.parametrize("name, parameters", [("length/reward.py", {"maximum": 9}), ("repetition/reward.py", None), ("similarity/reward.py", None), ("mix", None)])
def test_as_a_reward_of_trl(name, parameters):
    """merit_rl gives TRL each of them as a function of prompts, completions and columns."""
    from merit_rl import Reward

    reward = Reward(HERE.parent / name, parameters=parameters)
    scores = reward(prompts=["2 + 2?"] * 2, completions=["2 + 2 = 4", "It is five, five, five, five, five and five."], ground_truth=["2 + 2 = 4"] * 2)
    assert scores[0] > scores[1], json.dumps(scores)


def test_parameters_that_a_part_does_not_take(merit_reward, together):
    source = together / "reward.py"
    source.write_text(source.read_text().replace("maximum=2000", "maximun=2000"))
    result = merit_reward(together)([{"role": "assistant", "content": "4"}], ground_truth="4")
    assert result.outcome == "guest_error" and "does not take maximun" in result.reason
