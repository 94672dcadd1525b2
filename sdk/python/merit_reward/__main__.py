"""Scores trajectories natively, without a sandbox: ``python -m merit_reward reward.py data.jsonl``.

One line of JSON for each line of the data; consecutive lines with the same
``group`` make a group. For the author's own tests: nothing here is metered,
restored or bounded.
"""

from __future__ import annotations

import itertools
import json
import os
import sys

from . import runner, shims


def main(path: str, data: str) -> None:
    shims.install()
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    module = runner.load(path, os.path.splitext(os.path.basename(path))[0])
    reward = runner.find(module)
    runner.prepare(module)
    with open(data, encoding="utf-8") as f:
        rows = [json.loads(line) for line in f if line.strip()]
    count = itertools.count()
    for _, members in itertools.groupby(rows, lambda r: r.get("group") or next(count)):
        rollouts = [runner.rollout(m) for m in members]
        for batch in [rollouts] if reward.group else [[r] for r in rollouts]:
            for r, result in zip(batch, score(reward, batch)):
                print(json.dumps({"id": r.id, **result}, sort_keys=True))


def score(reward: runner.Reward, members: "list[runner.Rollout]") -> "list[dict]":
    try:
        results = reward.results(members)
    except Exception as e:
        return [{"error": runner.explain(e)} for _ in members]
    return [r if isinstance(r, dict) else {"score": float(r)} for r in results]


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: python -m merit_reward REWARD.py TRAJECTORIES.jsonl")
    main(*sys.argv[1:])
