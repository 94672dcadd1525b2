"""Asks math-verify 0.9.0, natively, about the cases of files: FILE.jsonl gives FILE.ref, with a line for each case.

    python reference.py CASES.jsonl ...

It reads texts as examples/rewards/math does: a gold answer may lack the dollars by which math-verify finds LaTeX.
What an exception or five seconds stop is "not equal", as it is to everybody who calls verify.
"""

from __future__ import annotations

import json
import logging
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, *[os.pardir] * 4, "examples", "rewards", "math"))
logging.disable(logging.CRITICAL)

import reading  # noqa: E402
from math_verify import verify  # noqa: E402
from math_verify.errors import TimeoutException  # noqa: E402

MARKS = ("</think>", "####")


def asked(case: dict) -> dict:
    settings = dict(case.get("settings", {}))
    only = settings.pop("only", None)
    configs = reading.configurations((only,) if only else ("latex", "expr"), (), 0)
    verdict = {"float_rounding": settings.pop("precision", 6)} | settings
    golds = [re.sub(r"^- (?=\d)", "-", case["gold"])]  # without dollars, math-verify reads no sign before a space
    try:
        truths = [reading.truth(g, configs, MARKS).parsed for g in golds]
        said = reading.read(reading.rest(case["text"], MARKS), configs).parsed
        equal = any(verify(t, said, **verdict) for t in truths if t and said)
    except TimeoutException:
        return {"id": case["id"], "reference": 0, "gold": "", "read": "stopped after five seconds"}
    return {"id": case["id"], "reference": int(equal), "gold": cut(truths), "read": cut(said)}


def cut(parsed: object) -> str:
    try:
        return str(parsed)[:200]
    except Exception as e:  # sympy cannot write all that it reads
        return type(e).__name__


def main(paths: list[str]) -> None:
    for path in paths:
        out = path.removesuffix(".jsonl") + ".ref"
        try:
            with open(out, encoding="utf-8") as f:
                done = {json.loads(line)["id"] for line in f}
        except FileNotFoundError:
            done = set()
        with open(path, encoding="utf-8") as cases, open(out, "a", encoding="utf-8") as f:
            for case in map(json.loads, cases):
                if case["id"] not in done:
                    f.write(json.dumps(asked(case), ensure_ascii=False) + "\n")
                    f.flush()
        print(out)


if __name__ == "__main__":
    main(sys.argv[1:])
