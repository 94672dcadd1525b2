"""Writes data.jsonl: an excerpt of real model solutions, with the scores of the references.

    python expected.py grade-school-math/grade_school_math/data/example_model_solutions.jsonl trl/rewards/other_rewards.py open_r1/rewards.py

The references are run as they are; of open-r1's file only the one function, as the file imports servers. What it
says of an answer's correctness is the data's own flag.
"""

from __future__ import annotations

import ast
import json
import math
import sys

MODELS = ("6b_finetuning", "175b_verification")
PROBLEMS = 75


def main(solutions: str, trl: str, open_r1: str) -> None:
    overlong = function(trl, {}, "get_soft_overlong_punishment", "_SoftOverlongPunishment")(max_completion_len=500, soft_punish_cache=200)
    correct = {"parse": lambda text, **_: [text], "LatexExtractionConfig": lambda **_: None, "NormalizationConfig": lambda **_: None}
    with open(solutions, encoding="utf-8") as f, open("data.jsonl", "w", encoding="utf-8") as out:
        for n, line in zip(range(PROBLEMS), f):
            problem = json.loads(line)
            for model in MODELS:
                said = problem[model]
                text, right = said["solution"], said["is_correct"]
                correct["verify"] = lambda answer, gold, right=right: right
                cosine = function(open_r1, {"math": math, **correct}, "get_cosine_scaled_reward")(max_len=1000)
                row = {
                    "id": f"{n}-{model}",
                    "messages": [{"role": "user", "content": problem["question"]}, {"role": "assistant", "content": text}],
                    "correct": right,
                    "expected_overlong": overlong([text])[0],
                    "expected_cosine": cosine([[{"content": text}]], [""])[0],
                }
                assert len(text) <= 1000, "beyond its maximum the cosine of open-r1 turns back"
                out.write(json.dumps(row, ensure_ascii=False) + "\n")


def function(path: str, names: dict, *wanted: str):
    """The first of the definitions wanted from a file, without the rest of it."""
    with open(path, encoding="utf-8") as f:
        tree = ast.parse(f.read())
    tree.body = [n for n in tree.body if getattr(n, "name", "") in wanted]
    exec(compile(tree, path, "exec", flags=annotations.compiler_flag), names)  # annotations name what was left out
    return names[wanted[0]]


if __name__ == "__main__":
    main(*sys.argv[1:])
