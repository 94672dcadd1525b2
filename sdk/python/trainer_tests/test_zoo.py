"""The rewards of the zoo, called by the trainers' own code: the scores that the sandbox is held to must be theirs."""

import importlib.util
import itertools
import json
import math
import os
import sys
from pathlib import Path

import numpy
import pytest
import yaml

ZOO = Path(__file__).resolve().parents[2] / "conformance" / "zoo"
sys.path.insert(0, str(ZOO))

import callers  # noqa: E402

# The trainer's own code gives something else than a score there, which is said in the zoo's index as well.
ELSE = {
    "openrlhf/label_in_query.py": "OpenRLHF 0.11 reads a dict only; the list is of versions before",
    "trl/one_number.py": "an exception of the whole step",
    "trl/too_short.py": "an exception of the whole step",
    "trl/strings.py": "an exception of the whole step",
}


def entries():
    golden = {g["reward"]: g["native"] for g in map(json.loads, (ZOO / "golden.jsonl").read_text().splitlines())}
    for entry in yaml.safe_load((ZOO / "index.yaml").read_text()):
        file, _, function = entry["file"].partition(":")
        known = entry["shape"] in callers.CALLERS and entry["file"] in golden and "native" not in entry
        if known and entry["file"] not in ELSE and not entry["file"].startswith("idioms/"):
            path = ZOO / file / "reward.py" if (ZOO / file).is_dir() else ZOO / file
            yield pytest.param({**entry, "path": str(path), "calls": function or entry.get("calls")}, golden[entry["file"]], id=entry["file"])


def load(path):
    spec = importlib.util.spec_from_file_location("reward_under_test", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # another process looks there
    spec.loader.exec_module(module)
    return module


def grouped(entry, rows):
    """The rows that one call of the trainer gets."""
    key = (lambda r: r.get("group")) if entry.get("grouped") else lambda r: sorted(r)
    return [list(g) for _, g in itertools.groupby(rows, key=key)]


@pytest.mark.parametrize("entry, golden", entries())
def test_the_trainer_itself(entry, golden, monkeypatch):
    """Promise: the native scores of the zoo, to which the sandbox is held, are what each trainer's own published code gives."""
    callers.ready()
    monkeypatch.chdir(os.path.dirname(entry["path"]))
    monkeypatch.syspath_prepend(os.path.dirname(entry["path"]))
    f = getattr(load(entry["path"]), entry["calls"])
    if entry.get("with"):
        import functools

        f = functools.partial(f, **entry["with"])
    rows = [json.loads(line) for line in (ZOO / "data" / f"{entry['data']}.jsonl").read_text().splitlines()]
    call = callers.CALLERS[entry["shape"]]
    scores = [s for group in grouped(entry, rows) for s in call(f, group, entry["path"])]
    assert [number(s) for s in scores] == [number(g) for g in golden]


def number(value):
    """A score in float32, as most trainers hold it; None for none. verifiers counts an exception as 0.0."""
    if isinstance(value, dict):
        return 0.0
    if value is None or math.isnan(float(value)):
        return None
    return float(numpy.float32(float(value)))
