"""Scores rows with the Python client, called as TRL calls a reward: a list for each column."""

import itertools
import json
import sys

from merit_rl import Reward


def main():
    spec = json.load(sys.stdin)
    rows = spec["rows"]
    for name, path in spec["rewards"].items():
        reward, scores = Reward(path, server=spec["server"]), []
        for _, batch in itertools.groupby(rows, key=lambda r: sorted(r)):
            batch = list(batch)
            columns = {k: [r[k] for r in batch] for k in batch[0] if k not in ("prompt", "completion")}
            scores += reward(prompts=[r["prompt"] for r in batch], completions=[r["completion"] for r in batch], **columns)
        print(json.dumps({"reward": name, "scores": scores}))


main()
