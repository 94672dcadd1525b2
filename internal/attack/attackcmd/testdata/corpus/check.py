"""Proves what the corpus claims, without Merit: that a right reply scores high, that each hack of a
hackable reward scores as high as the right reply of its task, and that no hack of a sound reward does.

    python3 check.py [seen|heldout] [NAME ...]

It needs Python 3.10, and node and a C compiler for the rewards in these languages.
"""

import contextlib
import importlib.util
import inspect
import io
import json
import math
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
COLUMNS_OF_MERIT = {"id", "group", "prompt", "completion"}


class Message(dict):
    """A message whose fields are attributes as well, as rewards of reward-kit expect."""

    __getattr__ = dict.get


def messages(value, role):
    return [Message(role=role, content=value)] if isinstance(value, str) else [Message(m) for m in value]


def text(value):
    return value if isinstance(value, str) else "\n".join(m.get("content") or "" for m in value)


def with_reply(row, reply):
    """The row with another reply, in the form that the row's own reply has."""
    if isinstance(reply, str) and not isinstance(row["completion"], str):
        reply = [{"role": "assistant", "content": reply}]
    return {**row, "completion": reply}


def scorer_in_python(entry):
    path = HERE / entry["reward"]
    spec = importlib.util.spec_from_file_location(entry["name"].replace("-", "_"), path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    function = getattr(module, entry["function"])
    accepted = inspect.signature(function).parameters
    takes_all = any(p.kind is p.VAR_KEYWORD for p in accepted.values())

    def call(rows):
        columns = {k: [r.get(k) for r in rows] for k in {k: 1 for r in rows for k in r} if k not in COLUMNS_OF_MERIT}
        if "completions" in accepted:
            values = {**columns, "prompts": [r["prompt"] for r in rows], "completions": [r["completion"] for r in rows]}
        elif "queries" in accepted:
            prompts = [text(r["prompt"]) for r in rows]
            values = {"prompts": prompts, "queries": [p + text(r["completion"]) for p, r in zip(prompts, rows)], "labels": columns["ground_truth"]}
        else:
            row = rows[0]
            values = {k: v[0] for k, v in columns.items()}
            values.update(data_source=row.get("data_source", ""), solution_str=text(row["completion"]),
                          prompt=messages(row["prompt"], "user"), completion=messages(row["completion"], "assistant"),
                          messages=messages(row["prompt"], "user") + messages(row["completion"], "assistant"))
        passed = {k: v for k, v in values.items() if k in accepted or (takes_all and k in columns)}
        with contextlib.redirect_stdout(io.StringIO()):
            result = function(**passed)
        return [r["score"] if isinstance(r, dict) else float(r) for r in (result if isinstance(result, list) else [result])]

    return call


def scorer_in_javascript(entry):
    def call(rows):
        rollouts = [{"messages": messages(r["prompt"], "user") + messages(r["completion"], "assistant"), "ground_truth": r.get("ground_truth"),
                     "metadata": {k: v for k, v in r.items() if k not in COLUMNS_OF_MERIT | {"ground_truth"}}} for r in rows]
        out = subprocess.run(["node", HERE / "native/score.mjs", HERE / entry["reward"]], input="\n".join(map(json.dumps, rollouts)), text=True, capture_output=True, check=True)
        return [float(line) for line in out.stdout.split()]

    return call


def scorer_in_c(entry, folder):
    program = pathlib.Path(folder) / entry["name"]
    subprocess.run(["cc", "-include", HERE / "native/native.h", "-o", program, HERE / entry["reward"] / "reward.c"], check=True)

    def call(rows):
        return [float(subprocess.run([program, text(r["completion"]), str(r["ground_truth"])], capture_output=True, check=True).stdout) for r in rows]

    return call


def problems_of(entry, folder):
    where = (HERE / entry["reward"]).parent
    rows = [json.loads(line) for line in (where / "rows.jsonl").read_text().splitlines()]
    about = json.loads((where / "about.json").read_text())
    by_id = {r["id"]: r for r in rows}
    if entry["reward"].endswith(".py"):
        call = scorer_in_python(entry)
    elif entry["reward"].endswith(".js"):
        call = scorer_in_javascript(entry)
    else:
        call = scorer_in_c(entry, folder)

    def score(row):
        if entry.get("batch") != "group":
            return call([row])[0]
        group = [r if r["id"] != row["id"] else row for r in rows if r["group"] == row["group"]]
        return call(group)[[r["id"] for r in group].index(row["id"])]

    found = []
    scores = {r["id"]: score(r) for r in rows}
    mean = {kind: sum(scores[i] for i in about[kind]) / len(about[kind]) for kind in ("right", "wrong")}
    if not mean["right"] > mean["wrong"]:
        found.append(f"right replies score {mean['right']}, wrong ones {mean['wrong']}")
    if entry["kind"] == "sound" and not min(scores[i] for i in about["right"]) > 2 * max(scores[i] for i in about["wrong"]):
        found.append("a wrong reply scores more than half of a right one")
    for hack in about["hacks"]:
        got, right = score(with_reply(by_id[hack["row"]], hack["reply"])), scores[hack["row"]]
        if entry["kind"] == "hackable" and not got >= right:
            found.append(f"{hack['row']}: the hack scores {got}, the right reply {right}: {hack['reply']!r}")
        if entry["kind"] == "sound" and not got <= right / 2:
            found.append(f"{hack['row']}: the attempt scores {got}, the right reply {right}: {hack['reply']!r}")
    if not about["hacks"]:
        found.append("there is no hack")
    return found


def main(arguments):
    halves = {"seen": False, "heldout": True}
    chosen = [a for a in arguments if a not in halves]
    held = [halves[a] for a in arguments if a in halves]
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for entry in json.loads((HERE / "corpus.json").read_text()):
            if (chosen and entry["name"] not in chosen) or (held and entry["held_out"] not in held):
                continue
            found = problems_of(entry, folder)
            failed += bool(found)
            print(entry["name"], "ok" if not found else "")
            for problem in found:
                print("   ", problem)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
