"""Writes the measured sets of answers that others published, one file of cases each.

    python sets.py OUT math_verify-0.9.0 GSM8K TORA QWEN OLYMPIAD

The arguments after the folder OUT: the unpacked source distribution of math-verify 0.9.0 (Apache-2.0), the answers
to GSM8K with the judgment of their publishers (openai/grade-school-math, MIT), and Git directories of
microsoft/ToRA at 213c1c9 (MIT; its copy of MATH is hendrycks/math, MIT), QwenLM/Qwen2.5-Math at a45202b (MIT) and
OpenBMB/OlympiadBench at ba5b26a (MIT).

A case has an id, a gold answer, a text, and expected: 1 if the text states the gold answer, else 0. It lacks
expected where the publisher has not judged it; then only agreement with math-verify is counted.
"""

from __future__ import annotations

import importlib
import inspect
import json
import os
import re
import subprocess
import sys

PROSE = re.compile(r"[A-Za-z]{3,}[,.]?\s+[A-Za-z]{2,}")  # math-verify reads words letter by letter, until it is stopped
LONGEST, MOST = 120, 400  # characters of an answer, and answers of a collection
SOLUTIONS = 1500
COMPARES = re.compile(r"compare_strings\(gold, pred, match_types=\[([^\]]*)\]")


def own(sdist: str):
    """math-verify's own tests of pairs of texts, with its usual settings."""
    sys.path.insert(0, sdist)
    for file in sorted(os.listdir(os.path.join(sdist, "tests"))):
        if not file.startswith("test_"):
            continue
        module = importlib.import_module("tests." + file.removesuffix(".py"))
        for name, test in vars(module).items():
            marks = [m for m in getattr(test, "pytestmark", []) if m.name == "parametrize"]
            if not marks or inspect.getmodule(test) is not module:
                continue
            names = [n.strip() for n in marks[0].args[0].split(",")]
            for i, values in enumerate(marks[0].args[1]):
                case = dict(zip(names, values))
                if "gold" not in case:
                    continue
                if case.get("precision", 6) != 6 or not case.get("strict", True) or case.get("allow_set_relation_comp"):
                    continue  # settings that are not the usual ones
                settings = {}
                found = COMPARES.search(inspect.getsource(test).replace("\n", ""))
                if found and "expr" not in found[1]:
                    if case["pred"].startswith("Answer ") and not case["expected"]:
                        continue  # a number that is not read because only LaTeX is
                    settings["only"] = "latex"
                elif found and "latex" not in found[1]:
                    settings["only"] = "expr"
                row = {"id": f"{file[5:-3]}-{name[5:]}-{i}", "gold": case["gold"], "text": case["pred"]}
                row["expected"] = int(case["expected"] if "expected" in case else case["result"])
                yield row | ({"settings": settings} if settings else {})


def gsm8k(path: str):
    for line in open(path, encoding="utf-8"):
        r = json.loads(line)
        yield {"id": r["id"], "gold": r["ground_truth"], "text": r["messages"][-1]["content"], "expected": int(r["metadata"]["is_correct"])}


def show(git: str, path: str) -> list[dict]:
    text = subprocess.run(["git", "--git-dir", git, "show", "HEAD:" + path], check=True, capture_output=True).stdout.decode()
    return json.loads(text) if path.endswith(".json") else [json.loads(line) for line in text.splitlines()]


def tora(git: str):
    """Two models' answers to GSM8K. Their publishers read a number from each, and compared it."""
    for model in ("tora-70b-v1.0", "tora-code-34b-v1.0"):
        for r in show(git, f"src/outputs/llm-agents/{model}/gsm8k/test_tora_-1_seed0_t0.0_s0_e1319.jsonl"):
            yield {"id": f"{model}-{r['idx']}", "gold": r["gt"], "text": r["code"][0], "expected": int(same(r["pred"][0], r["gt"]))}


def same(a: str, b: str) -> bool:
    try:
        return abs(float(a.replace(",", "")) - float(b.replace(",", ""))) < 1e-6
    except ValueError:
        return False


def boxed(text: str) -> str:
    inside, depth = text.rpartition("\\boxed{")[2], 1
    for i, c in enumerate(inside):
        depth += (c == "{") - (c == "}")
        if depth == 0:
            return inside[:i]
    return ""


def math(git: str):
    """MATH: each solution states the answer in its box; that of another problem of its kind, most often, does not."""
    rows = [r | {"answer": boxed(r["solution"])} for r in show(git, "src/data/math/test.jsonl")]
    rows = [r for r in rows if r["answer"] and len(r["solution"]) < 1500 and r["solution"].count("\\boxed") == 1][:SOLUTIONS]
    for r in rows:
        yield {"id": f"MATH-{r['idx']}", "gold": r["answer"], "text": r["solution"], "expected": 1}
    for a, b in zip(rows, rows[7:] + rows[:7]):
        yield {"id": f"MATH-{a['idx']}-{b['idx']}", "gold": a["answer"], "text": b["solution"]}


def qwen(git: str):
    """Eight answers of a model to each of 100 problems of MATH, as judged by its publishers."""
    for r in show(git, "evaluation/data/eval_rm_maj_example/math_cot_100.jsonl"):
        for i, (text, right) in enumerate(zip(r["code"], r["score"])):
            yield {"id": f"qwen-{r['idx']}-{i}", "gold": r["answer"], "text": text, "expected": int(right)}


def forms(git: str):
    """Answers of other collections, each in the words of a model, and in those of its neighbor."""
    for name in ("olympiadbench", "college_math", "gaokao2023en", "carp_en", "aime24", "amc23", "minerva_math"):
        answers = []
        for r in show(git, f"evaluation/data/{name}/test.jsonl"):
            a = r.get("final_answer") or r.get("answer") or boxed(r.get("solution", ""))
            answers.append(str(a[0] if isinstance(a, list) else a))
        answers = [a.strip() for a in answers if a.strip() and len(a) <= LONGEST and not PROSE.search(re.sub(r"\\[A-Za-z]+", " ", a))]
        answers = [answers[i * len(answers) // MOST] for i in range(MOST)] if len(answers) > MOST else answers
        for i, a in enumerate(answers):
            inside = a.strip("$") if a.count("$") == 2 and a[0] == a[-1] == "$" else a
            yield {"id": f"{name}-{i}", "gold": a, "text": f"Therefore, the answer is $\\boxed{{{inside}}}$.", "expected": 1}
            other = answers[(i + 1) % len(answers)]
            yield {"id": f"{name}-{i}-next", "gold": a, "text": f"Therefore, the answer is {other if '$' in other else '$' + other + '$'}."}


def olympiad(git: str):
    """The examples of the judge of OlympiadBench; those with a tolerance of their own are left out."""
    for i, r in enumerate(show(git, "eval/scoring_examples.json")):
        for j, a in enumerate(r["Ans"]):
            if "precision" not in a:
                yield {"id": f"judge-{i}-{j}", "gold": r["GT"], "text": a["answer"], "expected": int(a["equal"])}


def main(out: str, sdist: str, gsm: str, tora_git: str, qwen_git: str, olympiad_git: str) -> None:
    sets = {
        "own": own(sdist), "gsm8k": gsm8k(gsm), "tora": tora(tora_git), "math": math(tora_git), "qwen": qwen(qwen_git),
        "forms": forms(qwen_git), "olympiad": olympiad(olympiad_git),
    }
    os.makedirs(out, exist_ok=True)
    for name, rows in sets.items():
        path = os.path.join(out, name + ".jsonl")
        with open(path, "w", encoding="utf-8") as f:
            n = sum(1 for r in rows if f.write(json.dumps(r, ensure_ascii=False) + "\n"))
        print(f"{path}: {n} cases")


if __name__ == "__main__":
    main(*sys.argv[1:])
