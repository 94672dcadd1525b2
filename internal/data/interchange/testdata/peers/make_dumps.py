"""Writes verl.jsonl and trl.parquet by the statements of verl 0.9.1 and TRL 1.16.0 that dump
rollouts. They are cut out of the packages, so that torch need not be installed:

    pip download --no-deps verl==0.9.1 trl==1.16.0 && unzip -d src verl-*.whl && unzip -d src trl-*.whl
    pip install pandas pyarrow numpy && python make_dumps.py src
"""

import ast
import json
import os
import sys
import tempfile
from types import SimpleNamespace

import numpy as np
import pandas as pd

source = sys.argv[1]


def tree(path):
    return ast.parse(open(os.path.join(source, path)).read())


def run(nodes, names):
    exec(compile(ast.Module(body=nodes, type_ignores=[]), source, "exec"), names)
    return names


# verl: _write_generations of the trainer
write = next(n for n in ast.walk(tree("verl/trainer/ppo/v1/trainer_base.py")) if isinstance(n, ast.FunctionDef) and n.name == "_write_generations")
write.decorator_list = []
names = run([write], {"os": os, "json": json, "np": np})
with tempfile.TemporaryDirectory() as folder:
    ask = "system\nYou add.\nuser\nWhat is 3 + 4?\nassistant\n"
    names["_write_generations"](
        [ask, ask, "user\nWhat is 2 + 2?\nassistant\n"], ["7", "eight", "4"], ["7", "7", None], [np.float32(1.0), np.float32(0.0), np.float32(0.25)],
        {"uid": ["a_0_0", "a_1_0", "b_0_0"], "acc": [np.bool_(True), np.bool_(False), np.bool_(False)]}, folder, 12,
    )
    os.replace(os.path.join(folder, "12.jsonl"), "verl.jsonl")

# TRL: the statements of GRPOTrainer.log from the table to the file
strip = next(n for n in tree("trl/trainer/utils.py").body if isinstance(n, ast.FunctionDef) and n.name == "strip_images_from_messages")
names = run([strip], {"os": os, "pd": pd})
for block in ast.walk(tree("trl/trainer/grpo_trainer.py")):
    body = getattr(block, "body", None)
    for i, n in enumerate(body if isinstance(body, list) else []):
        if isinstance(n, ast.Assign) and getattr(n.targets[0], "id", "") == "table":
            dump = body[i : i + 3]
prompt = [{"role": "user", "content": "What is 3 + 4?"}]
logs = {
    "prompt": [prompt, prompt, [{"role": "user", "content": "What is 2 + 2?"}]],
    "completion": [[{"role": "assistant", "content": c}] for c in ["7", "eight", "4"]],
    "rewards": {"exact": [1.0, 0.0, 1.0], "short": [0.5, None, 0.25]},
    "extra": {"source": ["sums", "sums", "sums"]},
    "advantages": [0.7, -0.7, 0.0],
}
with tempfile.TemporaryDirectory() as folder:
    os.makedirs(os.path.join(folder, "completions"))
    names["self"] = SimpleNamespace(_logs=logs, state=SimpleNamespace(global_step=12), args=SimpleNamespace(output_dir=folder))
    run(dump, names)
    os.replace(os.path.join(folder, "completions", "completions_00012.parquet"), "trl.parquet")
