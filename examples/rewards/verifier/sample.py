"""Writes data.jsonl and gsm8k.jsonl: samples of the measured sets that sdk/answer/testdata/compare/sets.py makes.

    python sample.py SETS

data.jsonl has answers of Qwen2.5-Math to problems of MATH and solutions of MATH, each with its own ground truth or
with that of another problem; gsm8k.jsonl has answers of ToRA 70B and 34B to GSM8K.
"""

from __future__ import annotations

import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
LONGEST = 1200  # characters of an answer


def sample(path: str, n: int, keep) -> list[dict]:
    with open(path, encoding="utf-8") as f:
        rows = [r for r in map(json.loads, f) if len(r["text"]) <= LONGEST and keep(r)]
    return [rows[i * len(rows) // n] for i in range(n)]


def exchanged(rows: list[dict]) -> list[dict]:
    """Every third row gets the ground truth of the next, if that is plainly another number."""
    for a, b in zip(rows[::3], rows[1::3]):
        if a["gold"].isdigit() and b["gold"].isdigit() and a["gold"] != b["gold"]:
            a.update(gold=b["gold"], expected=0)
    return rows


def row(case: dict) -> dict:
    return {"id": case["id"], "messages": [{"role": "assistant", "content": case["text"]}], "ground_truth": case["gold"], "expected": float(case["expected"])}


def main(sets: str) -> None:
    def path(name: str) -> str:
        return os.path.join(sets, name + ".jsonl")

    math = sample(path("qwen"), 70, lambda r: True) + sample(path("math"), 70, lambda r: "expected" in r and r["text"].count("\\boxed") == 1)
    for name, rows in (("data", exchanged(math)), ("gsm8k", sample(path("tora"), 120, lambda r: True))):
        with open(os.path.join(HERE, name + ".jsonl"), "w", encoding="utf-8") as out:
            for r in rows:
                out.write(json.dumps(row(r), ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
