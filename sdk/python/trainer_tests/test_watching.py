"""Red flags while the published trainers train: TRL's callbacks, verl's file logger, TensorBoard."""

import json
import os
import subprocess

import pytest
from merit_rl import _binary
from merit_rl.watching import Watch, trl_callback


def rows(n):
    """The metrics of a training whose score rises, and whose gradient explodes at the end."""
    for i in range(1, n + 1):
        norm = 1000.0 if i == n else 1.0
        yield i, {"reward": 0.2 + 0.01 * i, "reward_std": 0.3, "grad_norm": norm, "kl": float("nan"), "note": "text"}


def flags(path):
    command = [_binary.find(), "watch", str(path), "--json", "--window", "5"]
    out = subprocess.run(command, capture_output=True, check=True)
    return [flag["name"] for flag in json.loads(out.stdout)["flags"]]


def test_watch_returns_each_flag_once(tmp_path):
    watch = Watch(str(tmp_path / "metrics.jsonl"), every=5, window=5)
    found = [flag["name"] for step, metrics in rows(20) for flag in watch.log(step, metrics)]
    assert found == ["gradient_explosion"]
    assert watch.look() == []


@pytest.mark.parametrize("on_alarm", ["warn", "stop"])
def test_callback_of_trl(tmp_path, caplog, on_alarm):
    import transformers

    callback = trl_callback(on_alarm=on_alarm, every=1, window=5)
    handler = transformers.trainer_callback.CallbackHandler([callback], None, None, None, None)
    args = transformers.TrainingArguments(output_dir=str(tmp_path), report_to=[])
    state, control = transformers.TrainerState(), transformers.TrainerControl()
    os.makedirs(tmp_path / "completions")
    (tmp_path / "completions" / "completions_00020.parquet").write_bytes(b"rows")
    for step, metrics in rows(20):
        state.global_step = step
        assert not control.should_training_stop
        control = handler.on_log(args, state, control, dict(metrics))
    assert [flag["name"] for flag in callback.flags] == ["gradient_explosion"]
    assert control.should_training_stop == control.should_save == (on_alarm == "stop")
    assert "gradient_explosion (alarm)" in caplog.text
    assert os.listdir(tmp_path / "flagged") == ["completions_00020.parquet"]


def test_file_logger_of_verl(tmp_path, monkeypatch):
    from verl.utils import tracking

    monkeypatch.setenv("VERL_FILE_LOGGER_PATH", str(tmp_path / "verl.jsonl"))
    logger = tracking.FileLogger("project", "experiment")
    names = {"reward": "critic/score/mean", "reward_std": "critic/score/std", "grad_norm": "actor/grad_norm"}
    for step, metrics in rows(20):
        logger.log({names[name]: value for name, value in metrics.items() if name in names}, step)
    logger.finish()
    assert flags(tmp_path / "verl.jsonl") == ["gradient_explosion"]


def test_tensorboard(tmp_path):
    from torch.utils.tensorboard import SummaryWriter

    writer = SummaryWriter(str(tmp_path / "runs"))
    for step, metrics in rows(20):
        for name in ("reward", "reward_std", "grad_norm"):
            writer.add_scalar("train/" + name, metrics[name], step, new_style=name == "reward")
    writer.close()
    assert flags(tmp_path) == ["gradient_explosion"]
