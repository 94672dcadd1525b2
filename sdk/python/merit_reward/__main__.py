"""Scores trajectories natively, without a sandbox: ``python -m merit_reward reward.py[:function] data.jsonl [with]``.

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
from .models import check_names
from .results import NAMES


def main(reference: str, data: str, given: str = "{}") -> None:
    out, sys.stdout = sys.stdout, sys.stderr  # what the reward prints is its log
    shims.install()
    path, _, function = reference.rpartition(":") if ".py:" in reference else (reference, "", "")
    path, data = os.path.abspath(path), os.path.abspath(data)
    sys.path.insert(0, os.path.dirname(path))
    os.chdir(os.path.dirname(path))  # as in the sandbox: files that a reward opens lie beside it
    module = runner.load(path, os.path.splitext(os.path.basename(path))[0])
    reward = runner.find(module, function, json.loads(given))
    runner.prepare(module)
    with open(data, encoding="utf-8") as f:
        rows = [json.loads(line) for line in f if line.strip()]
    count = itertools.count()
    for _, members in itertools.groupby(rows, lambda r: r.get("group") or next(count)):
        rollouts = [runner.rollout(_columns(m)) for m in members]
        for batch in [rollouts] if reward.group else [[r] for r in rollouts]:
            for r, result in zip(batch, score(reward, batch)):
                print(json.dumps({"id": r.id, **result}, sort_keys=True), file=out)


KNOWN = frozenset(
    "id group task seed messages ground_truth metadata steps stop_reason bootstrap error outcome evaluation reward_notes".split()
)


def _columns(row: "dict") -> "dict":
    """The row with the columns that Merit does not know in its metadata."""
    metadata = {**(row.get("metadata") or {}), **{k: v for k, v in row.items() if k not in KNOWN}}
    return {**{k: v for k, v in row.items() if k in KNOWN}, "metadata": metadata}


def score(reward: runner.Reward, members: "list[runner.Rollout]") -> "list[dict]":
    try:
        results = reward.results(members)
    except Exception as e:
        return [{"error": runner.explain(e)} for _ in members]
    return [_named(r) if isinstance(r, dict) else {"score": float(r)} for r in results]


def _named(result: "dict") -> "dict":
    try:
        check_names("the result", result, NAMES)
    except TypeError as e:
        return {"error": str(e)}
    return {k: v for k, v in result.items() if k in NAMES}


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit("usage: python -m merit_reward REWARD.py[:FUNCTION] TRAJECTORIES.jsonl [PARAMETERS]")
    main(*sys.argv[1:])
