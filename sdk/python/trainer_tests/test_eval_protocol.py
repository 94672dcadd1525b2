"""eval-protocol 0.3, as published, with a Merit reward: its decorator in a pytest of its own."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from eval_protocol.models import EvaluationRow, Message

from merit_rl import Reward
from merit_rl.eval_protocol import evaluated, evaluated_all


def row(answer, truth=None):
    said = [Message(role="user", content="2 + 2?"), Message(role="assistant", content=answer)]
    return EvaluationRow(messages=said, ground_truth=truth)


@pytest.mark.parametrize("threshold, passes", [("0.6", True), ("0.7", False)])
def test_example(threshold, passes, tmp_path, monkeypatch):
    """Promise: the test of the docs runs under eval-protocol's own decorator. Of three rows with a score two are
    right, so their mean is 0.67; with the row without one counted as 0 it were 0.5."""
    for name in ("reward.py", "rows.jsonl"):
        shutil.copy(name, tmp_path)
    text = Path("test_with_eval_protocol.py").read_text()
    (tmp_path / "test_mine.py").write_text(text.replace("passed_threshold=0.6", f"passed_threshold={threshold}"))
    monkeypatch.setenv("HOME", str(tmp_path))  # it keeps a data base there
    command = [sys.executable, "-W", "ignore", "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_mine.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode == 0) == passes, done.stdout[-3000:] + done.stderr[-1000:]
    assert passes or "0.67" in done.stdout or "0.66" in done.stdout, done.stdout[-3000:]


def test_row_in_row_out():
    """Promise: a row comes back with its result; without a score is_score_valid is False, and the reason is there."""
    reward = Reward("reward.py")
    assert evaluated(row("It is 4", "4"), reward).evaluation_result.score == 1.0
    none = evaluated(row("It is 4"), reward).evaluation_result
    assert (none.is_score_valid, none.reason, none.error) == (
        False,
        "there is no ground truth",
        "invalid: there is no ground truth",
    )


def test_steps_and_metrics(rewards):
    """Promise: metrics and the rewards of steps arrive."""
    path = rewards(
        "from merit_reward import EvaluateResult, MetricResult, StepOutput\n"
        "def score(messages, **kwargs):\n"
        "    metrics = {'m': MetricResult(score=2, is_score_valid=True, reason='two')}\n"
        "    steps = [StepOutput(step_index=0, base_reward=0.25)]\n"
        "    return EvaluateResult(score=0.5, metrics=metrics, step_outputs=steps)\n"
    )
    [got] = evaluated_all([row("4")], Reward(path))
    result = got.evaluation_result
    assert (result.metrics["m"].score, result.metrics["m"].reason) == (2, "two")
    assert [(s.step_index, s.base_reward) for s in result.step_outputs] == [(0, 0.25)]
