"""Writes data.jsonl: real texts of language models, with the scores of open-r1's get_repetition_penalty_reward.

    python expected.py gpt-3-experiments/examples gorilla/gorilla/eval/eval-data/responses open_r1/rewards.py

The reference is run as it is; of open-r1's file only the one function, as the file imports servers.
"""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path

LONGEST = 2200  # characters of a text, so that the file stays small


def main(gpt3: str, gorilla: str, open_r1: str) -> None:
    score = function(open_r1, "get_repetition_penalty_reward")(ngram_size=3, max_penalty=-1.0)
    with open("data.jsonl", "w", encoding="utf-8") as out:
        for name, text in [*of_gpt3(Path(gpt3)), *of_gorilla(Path(gorilla))]:
            row = {"id": name, "messages": [{"role": "assistant", "content": text}], "expected": score([[{"content": text}]])[0]}
            out.write(json.dumps(row, ensure_ascii=False) + "\n")


def of_gpt3(folder: Path):
    """The beginning of each file: GPT-3 at four temperatures, 0.0 to 1.2; at 0.0 it falls into loops."""
    for path in sorted(folder.glob("*/output_*")):
        yield f"gpt-3-{path.parent.name}-{path.stem}", path.read_text(encoding="utf-8")[:LONGEST]


def of_gorilla(folder: Path):
    """Every fourth answer about Torch Hub of the model that was not told the interfaces, 40 of them."""
    with open(folder / "torchhub" / "response_torchhub_Gorilla_RT_0_shot.jsonl", encoding="utf-8") as f:
        for line in list(f)[:160:4]:
            answer = json.loads(line)
            yield f"gorilla-{answer['question_id']}", answer["text"][:LONGEST]


def function(path: str, name: str):
    """One definition of a file, without the rest of it."""
    with open(path, encoding="utf-8") as f:
        tree = ast.parse(f.read())
    tree.body = [n for n in tree.body if getattr(n, "name", "") == name]
    names: dict = {}
    exec(compile(tree, path, "exec", flags=annotations.compiler_flag), names)
    return names[name]


if __name__ == "__main__":
    main(*sys.argv[1:])
