"""Scores trajectories natively, without a sandbox: ``python -m merit_reward reward.py[:function] data.jsonl [with]``.

One line of JSON for each row of the data. Rows are read, grouped and batched as
``merit eval`` does it. For the author's own tests: nothing here is metered,
restored or bounded.
"""

from __future__ import annotations

import json
import os
import sys

from . import _rows_native, runner, shims
from .models import check_names
from .results import NAMES, plain


def main(reference: str, data: str, given: str = "{}") -> None:
    out, sys.stdout = sys.stdout, sys.stderr  # what the reward prints is its log
    shims.install()
    path, _, function = reference.rpartition(":") if ".py:" in reference else (reference, "", "")
    path, data = os.path.abspath(path), os.path.abspath(data)
    sys.path.insert(0, os.path.dirname(path))
    sys.path.append(os.path.join(os.path.dirname(path), "packages"))  # where merit reward add puts them
    os.chdir(os.path.dirname(path))  # as in the sandbox: files that a reward opens lie beside it
    module = runner.load(path, os.path.splitext(os.path.basename(path))[0])
    reward = runner.find(module, function, json.loads(given))
    runner.prepare(module)
    rows = _read(data)
    lines: "list[dict]" = [{"id": r["id"]} for r in rows]
    for call in _calls(reward, rows):
        answered = []
        for i in call:
            if why := _rows_native.unanswered(rows[i], runner.boundary(rows[i]) or 0):
                lines[i].update(is_score_valid=False, reason=why)
            else:
                answered.append(i)
        if answered:
            for i, result in zip(answered, score(reward, [rows[i] for i in answered])):
                lines[i].update(result)
    for line in lines:
        print(json.dumps(line, sort_keys=True), file=out)


def _calls(reward: runner.Reward, rows: "list[dict]") -> "list[list[int]]":
    """Which rows come in one call: each alone, those of a group, or as many as the reward says."""
    if not reward.group:
        return [[i] for i in range(len(rows))]
    if reward.batch:
        return [list(range(i, min(i + reward.batch, len(rows)))) for i in range(0, len(rows), reward.batch)]
    groups: "dict[object, list[int]]" = {}
    for i, r in enumerate(rows):
        groups.setdefault(r["group"] or i, []).append(i)
    return list(groups.values())


def _read(path: str) -> "list[dict]":
    """The rows of a file. All that cannot be read is told at once, before any is scored."""
    rows, problems = [], []
    with open(path, encoding="utf-8") as f:
        for number, line in enumerate(f, 1):
            if line.strip():
                try:
                    rows.append(_rows_native.read(line, number))
                except ValueError as e:
                    problems.append(f"{os.path.basename(path)}, line {number}: {e}")
    if problems:
        more = [f"and {len(problems) - 5} more lines"] if len(problems) > 5 else []
        hint = "python -m merit_reward reads only usual rows; for every form that Merit reads, run: merit eval --reward FILE --data FILE"
        sys.exit("\n".join([*problems[:5], *more, hint]))
    return rows


def score(reward: runner.Reward, rows: "list[dict]") -> "list[dict]":
    members, asked = [], {}
    for r in rows:
        fields, asked = _rows_native.of(reward, r)
        members.append(runner.rollout(fields))
    try:
        results = [plain(reward.func(**{**asked, **reward._arguments(members[0])}))] if asked else reward.results(members)
    except Exception as e:
        return [{"error": runner.explain(e)} for _ in rows]
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
