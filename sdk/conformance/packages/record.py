"""Writes golden.jsonl: the scores that the rewards give natively, with the packages as published.

    python3 -m venv env && env/bin/pip install PyYAML $(grep -oE 'package: \\S+' index.yaml | cut -d' ' -f2)
    PYTHONPATH=../../python env/bin/python record.py
"""

import json
import pathlib
import subprocess
import sys
import tempfile

import yaml

HERE = pathlib.Path(__file__).parent


def trajectory(number: int, said: str, truth) -> dict:
    return {"id": f"r{number}", "messages": [{"role": "user", "content": "?"}, {"role": "assistant", "content": said}], "ground_truth": truth}


def scores(entry: dict) -> list[float]:
    name = entry.get("reward") or entry["package"].split("==")[0]
    with tempfile.TemporaryDirectory() as folder:
        reward, rows = pathlib.Path(folder, "reward.py"), pathlib.Path(folder, "rows.jsonl")
        reward.write_bytes((HERE / "rewards" / f"{name}.py").read_bytes())  # under its own name it would hide the package
        rows.write_text("".join(json.dumps(trajectory(n, *row)) + "\n" for n, row in enumerate(entry["rows"])))
        command = [sys.executable, "-B", "-m", "merit_reward", str(reward), str(rows)]
        lines = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    return [json.loads(line)["score"] for line in lines]


if __name__ == "__main__":
    with open(HERE / "golden.jsonl", "w") as out:
        for entry in yaml.safe_load((HERE / "index.yaml").read_text()):
            out.write(json.dumps({"package": entry["package"], "scores": scores(entry)}) + "\n")
