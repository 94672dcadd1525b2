"""Writes data.jsonl: cases of math-verify's own tests, and solutions of MATH with their answers.

    python expected.py math_verify-0.9.0 MATH-test.jsonl

The first is the source distribution, unpacked; its tests say what is equal. The second has a problem, a solution and
its type on each line; a solution says what its own last box says.
"""

from __future__ import annotations

import importlib
import inspect
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, os.pardir, "testdata", "math"), os.path.join(HERE, "packages")]

PLAIN = 'compare_strings(gold, pred, match_types=["latex", "expr"]) == expected'
LONGEST = 300  # characters of a case
CASES, SOLUTIONS = 110, 50


def cases(sdist: str):
    """The tests that compare with the usual settings."""
    sys.path.insert(0, sdist)
    for file in sorted(os.listdir(os.path.join(sdist, "tests"))):
        if file.startswith("test_"):
            module = importlib.import_module("tests." + file.removesuffix(".py"))
            for name, test in vars(module).items():
                if name.startswith("test_") and PLAIN in inspect.getsource(test).replace("\n", ""):
                    for i, case in enumerate(test.cases):
                        if len(case["gold"]) + len(case["pred"]) <= LONGEST:
                            yield {"id": f"{name}-{i}", **row("-", case["pred"], case["gold"], case["expected"])}


def solutions(path: str):
    with open(path, encoding="utf-8") as f:
        for problem in map(json.loads, f):
            if len(problem["solution"]) < 900 and problem["solution"].count("\\boxed{") == 1:
                yield {"id": f"MATH-{problem['idx']}", **row(problem["problem"], problem["solution"], boxed(problem["solution"]), 1)}


def row(problem: str, answer: str, truth: str, expected: int) -> dict:
    messages = [{"role": "user", "content": problem}, {"role": "assistant", "content": answer}]
    return {"messages": messages, "ground_truth": truth, "expected": float(expected)}


def boxed(text: str) -> str:
    inside = text.partition("\\boxed{")[2]
    depth = 1
    for i, c in enumerate(inside):
        depth += (c == "{") - (c == "}")
        if depth == 0:
            return inside[:i]
    raise ValueError(f"a box without an end: {text}")


def spread(rows: list, n: int) -> list:
    n = min(n, len(rows))
    return [rows[i * len(rows) // n] for i in range(n)]


def main(sdist: str, math: str) -> None:
    with open(os.path.join(HERE, "data.jsonl"), "w", encoding="utf-8") as out:
        for r in spread(list(cases(sdist)), CASES) + spread(list(solutions(math)), SOLUTIONS):
            out.write(json.dumps(r, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
