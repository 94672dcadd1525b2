"""Writes taubench.jsonl and bfcl.jsonl.

    python expected.py tau-bench/historical_trajectories/gpt-4o-airline.json gorilla/berkeley-function-call-leaderboard/bfcl_eval

tau-bench: what GPT-4o called in 50 conversations, with what the task expects; ``expected`` is tau-bench's own reward, which
compares the state of its database and what the user was told. Texts of messages are left out, calls are whole.

BFCL: its questions and possible answers. Nobody's outputs of it are under a licence that allows to copy them, so the answers are
made here from what is possible: right ones, and ones with one fault each. ``expected`` is what BFCL's ast_checker, run as it is,
says of them.
"""

from __future__ import annotations

import enum
import json
import sys
import types
from pathlib import Path

PROBLEMS = 22  # of each category


def main(tau: str, bfcl: str) -> None:
    with open(tau, encoding="utf-8") as f, open("taubench.jsonl", "w", encoding="utf-8") as out:
        for episode in json.load(f):
            if episode["trial"] == 0:
                out.write(json.dumps(of_tau(episode), ensure_ascii=False) + "\n")
    check = ast_checker(Path(bfcl))
    with open("bfcl.jsonl", "w", encoding="utf-8") as out:
        for category in ("multiple", "parallel", "parallel_multiple"):
            for row in of_bfcl(Path(bfcl), category, check):
                out.write(json.dumps(row, ensure_ascii=False) + "\n")


def of_tau(episode: dict) -> dict:
    messages = []
    for m in episode["traj"]:
        if m["role"] == "assistant":
            calls = [{"id": c["id"], "type": "function", "function": c["function"]} for c in m.get("tool_calls") or ()]
            messages.append({"role": "assistant", "content": "" if calls else "…", **({"tool_calls": calls} if calls else {})})
        elif m["role"] == "tool":
            messages.append({"role": "tool", "tool_call_id": m["tool_call_id"], "content": "…"})
        elif m["role"] == "user":
            messages.append({"role": "user", "content": "…"})
    truth = [{"name": a["name"], "arguments": a["kwargs"]} for a in episode["info"]["task"]["actions"]]
    return {"id": f"{episode['task_id']}-{episode['trial']}", "messages": messages, "ground_truth": truth, "expected": episode["reward"]}


def of_bfcl(folder: Path, category: str, check):
    name = f"BFCL_v4_{category}.json"
    with open(folder / "data" / name, encoding="utf-8") as f, open(folder / "data" / "possible_answer" / name, encoding="utf-8") as g:
        pairs = list(zip(map(json.loads, f), map(json.loads, g)))[:PROBLEMS]
    for n, (question, answer) in enumerate(pairs):
        truth = [{"name": k, "arguments": v} for call in answer["ground_truth"] for k, v in call.items()]
        right = [(c["name"], {k: first(v) for k, v in c["arguments"].items() if v[0] != ""}) for c in truth]
        for fault, calls in (("right", right), faulty(n, right, truth)):
            said = check(question["function"], [{k: v} for k, v in calls], answer["ground_truth"], "python", category, "stand-in")
            made = [{"id": f"c{i}", "type": "function", "function": {"name": k, "arguments": json.dumps(v)}} for i, (k, v) in enumerate(calls)]
            yield {
                "id": f"{question['id']}-{fault}", "messages": [*question["question"][0], {"role": "assistant", "content": "", "tool_calls": made}],
                "ground_truth": truth, "expected": float(said["valid"]),
            }


def first(choices: list):
    """A value that is right. One that is an object has choices for each of its keys."""
    choice = choices[0]
    if isinstance(choice, list):
        return [first([x]) for x in choice]
    return {k: first(v) for k, v in choice.items() if v[0] != ""} if isinstance(choice, dict) else choice


def faulty(n: int, right: list, truth: list) -> tuple[str, list]:
    """The right calls with one fault, or with a difference that is none."""
    name, given = right[-1]
    key = next(iter(given))
    other = {**given, key: given[key] + "x" if isinstance(given[key], str) else not given[key] if isinstance(given[key], bool) else "wrong"}
    upper = {k: v.upper() + "." if isinstance(v, str) else v for k, v in given.items()}
    last = {k: first(v if v[-1] == "" else v[::-1]) for k, v in truth[-1]["arguments"].items() if v[0] != ""}
    return [
        ("value", [*right[:-1], (name, other)]),
        ("missing-argument", [*right[:-1], (name, {k: v for k, v in given.items() if k != key})]),
        ("extra-argument", [*right[:-1], (name, {**given, "verbose": True})]),
        ("missing-call", right[:-1]),
        ("extra-call", [*right, right[0]]),
        ("other-tool", [*right[:-1], (name + "s", given)]),
        ("reversed", right[::-1]),
        ("in-capitals", [*right[:-1], (name, upper)]),
        ("another-possible-value", [*right[:-1], (name, last)]),
    ][n % 9]


def ast_checker(folder: Path):
    """BFCL's function, without the clients of models that its imports bring."""
    class Language(enum.Enum):
        PYTHON, JAVA, JAVASCRIPT = "python", "java", "javascript"

    stand_ins = {
        "constants.enums": {"Language": Language},
        "constants.model_config": {"MODEL_CONFIG_MAPPING": {"stand-in": types.SimpleNamespace(underscore_to_dot=False)}},
        "constants.type_mappings": {"JAVA_TYPE_CONVERSION": {}, "JS_TYPE_CONVERSION": {}},
        "eval_checker.ast_eval.type_convertor.java_type_converter": {"java_type_converter": None},
        "eval_checker.ast_eval.type_convertor.js_type_converter": {"js_type_converter": None},
    }
    for name, names in stand_ins.items():
        module = sys.modules["bfcl_eval." + name] = types.ModuleType(name)
        vars(module).update(names)
    path = folder / "eval_checker" / "ast_eval" / "ast_checker.py"
    names: dict = {}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), names)
    return lambda *arguments: names["ast_checker"](*arguments[:3], Language.PYTHON, *arguments[4:])


if __name__ == "__main__":
    main(*sys.argv[1:])
