"""A reward that compares in TRL's GRPOTrainer with two processes, which have two members each of every group of four."""

import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

# A completion's score: how many of its group have fewer letters, and 10 for each member that was there.
COMPARES = """
from merit_reward import reward_function

@reward_function(mode="batch")
def rank(rollouts_messages, **kwargs):
    sizes = [sum(c.isalpha() for c in m[-1].text) for m in rollouts_messages]
    return [sum(other < s for other in sizes) + 10.0 * len(sizes) for s in sizes]
"""
HERE = Path(__file__).resolve().parent


def trains(tmp_path, rewards, how):
    """What each of two processes, started as torchrun starts them, found in its batches."""
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc_per_node=2", "--master_port=0", "--rdzv_backend=c10d"]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])])}
    command += ["--rdzv_endpoint=localhost:0", __file__, str(tmp_path), rewards(COMPARES), how]
    done = subprocess.run(command, env={**env, "OMP_NUM_THREADS": "1"}, capture_output=True, text=True, timeout=400)
    return done, [json.loads(p.read_text()) for p in sorted(tmp_path.glob("seen-*.json"))]


def test_groups_reach_over_processes(tmp_path, rewards):
    """Promise: the members of a group are compared wherever they are, each process gets the scores of its own, and the mean and
    the deviation of a part are those of all processes."""
    done, seen = trains(tmp_path, rewards, "called")
    assert done.returncode == 0, done.stderr[-3000:]
    assert [len(s["texts"]) for s in seen] == [2, 2]
    letters = [sum(c.isalpha() for c in text) for s in seen for text in s["texts"]]
    want = [sum(other < n for other in letters) + 40.0 for n in letters]
    assert [score for s in seen for score in s["scores"]] == want
    assert all(s["gathered"] == want for s in seen)
    for s in seen:
        assert s["metrics"]["rewards/rank/mean"] == statistics.fmean(want)
        assert s["metrics"]["rewards/rank/std"] == statistics.stdev(want)


def test_refused_where_it_cannot_be_gathered(tmp_path, rewards):
    """Promise: .aio cannot compare over processes; it says so, and what to give instead, and the run ends."""
    done, _ = trains(tmp_path, rewards, "asynchronous")
    assert done.returncode != 0
    assert "groups reach over several processes" in done.stderr and "without .aio" in done.stderr


def main(folder, reward, how):
    """One of the processes."""
    import conftest
    import torch
    from test_trl import dataset, settings
    from trl import GRPOConfig, GRPOTrainer

    from merit_rl import Reward, Rewards

    found = {}
    made = Reward(reward)

    def listens(completions, **_):
        found["texts"] = list(completions)
        return [0.0] * len(completions)

    class Recorded(GRPOTrainer):
        def _log_metric(self, name, value):
            found.setdefault("metrics", {})[name] = value
            super()._log_metric(name, value)

        def _calculate_rewards(self, *args):
            rewards = super()._calculate_rewards(*args)
            found["gathered"] = rewards[:, 0].tolist()
            found["scores"] = found["gathered"][self.accelerator.process_index * 2 :][:2]
            return rewards

    funcs = made.aio if how == "asynchronous" else Rewards({"rank": made, "listens": listens})
    options = {**settings(folder), "per_device_train_batch_size": 2, "max_steps": 1}
    tokenizer = conftest.tokenizer.__wrapped__()
    model = conftest.model.__wrapped__(tokenizer)
    data = dataset("1", "2")
    Recorded(model, reward_funcs=funcs, args=GRPOConfig(**options), train_dataset=data, processing_class=tokenizer).train()
    (Path(folder) / f"seen-{torch.distributed.get_rank()}.json").write_text(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
