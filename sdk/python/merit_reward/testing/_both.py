"""A reward, run in both ways over the same trajectories."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Union

from ._compare import differences

Trajectory = Mapping[str, Any]
VARIABLE = "MERIT_BINARY"


class Difference(AssertionError):
    """The reward says one thing natively and another in the sandbox, or cannot be run at all."""


@dataclass(frozen=True)
class Result:
    """What became of one trajectory; ``score`` is ``None`` unless ``outcome`` is ``"scored"``."""

    id: str
    outcome: str
    score: Optional[float] = None
    metrics: Dict[str, Any] = field(default_factory=dict)
    step_outputs: List[Dict[str, Any]] = field(default_factory=list)
    reason: str = ""
    fuel: int = 0

    @property
    def scored(self) -> bool:
        """Whether there is a score."""
        return self.outcome == "scored"


class Both:
    """A reward that every call runs natively, in a process of its own, and in the sandbox, by ``merit eval``.

    ``reference`` is ``file.py[:function]`` or a folder with a reward.py;
    ``parameters`` are what the configuration calls ``with``. Scores and metrics
    may differ by a relative ``tolerance``: the two do not share their libm.
    """

    def __init__(
        self,
        reference: "Union[str, os.PathLike[str]]",
        parameters: Optional[Mapping[str, Any]] = None,
        *,
        fuel: Optional[int] = None,
        tolerance: float = 1e-9,
        binary: Optional[str] = None,
    ) -> None:
        path, colon, function = os.fspath(reference).rpartition(":")
        if not colon or not function.isidentifier():
            path, colon, function = os.fspath(reference), "", ""
        self.reference = os.path.abspath(path) + colon + function
        if not os.path.exists(path):
            raise Difference(f"there is no reward {path}")
        script = os.path.join(path, "reward.py") if os.path.isdir(path) else path
        self._script = os.path.abspath(script) + colon + function
        self.parameters, self.fuel, self.tolerance = dict(parameters or {}), fuel, tolerance
        self._binary = binary or _find()

    def __call__(
        self,
        messages: Sequence[Mapping[str, Any]],
        ground_truth: Any = None,
        metadata: Optional[Mapping[str, Any]] = None,
        **columns: Any,
    ) -> Result:
        """The result of one conversation; ``columns`` are metadata too."""
        row: Dict[str, Any] = {"id": "the conversation", "messages": list(messages), "metadata": {**(metadata or {}), **columns}}
        if ground_truth is not None:
            row["ground_truth"] = ground_truth
        return self.evaluate([row])[0]

    def evaluate(self, trajectories: Iterable[Trajectory]) -> List[Result]:
        """The results of the sandbox. It is a ``Difference``, which lists all of them, if the reward says another thing natively."""
        rows = [dict(t) for t in trajectories]
        for i, row in enumerate(rows):
            row.setdefault("id", f"trajectory-{i + 1}")
        with tempfile.TemporaryDirectory(prefix="merit") as folder:
            data = Path(folder, "data.jsonl")
            data.write_text("".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8")
            natively, sandboxed = self._natively(data), self._sandboxed(data)
        found = [line for n, s in zip(natively, sandboxed) for line in differences(n, s, self.tolerance)]
        if found:
            raise Difference("\n".join([f"{os.path.relpath(self.reference)} differs:", *found]))
        return sandboxed

    def _natively(self, data: Path) -> List[Result]:
        packages = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        env = {**os.environ, "PYTHONHASHSEED": "0"}
        env["PYTHONPATH"] = os.pathsep.join(p for p in (packages, env.get("PYTHONPATH", "")) if p)
        command = [sys.executable, "-m", "merit_reward", self._script, str(data), json.dumps(self.parameters)]
        done = subprocess.run(command, capture_output=True, text=True, env=env)
        if done.returncode:
            raise Difference(f"{self.reference} cannot be run natively:\n{done.stderr.strip()}")
        return [native(json.loads(line)) for line in done.stdout.splitlines()]

    def _sandboxed(self, data: Path) -> List[Result]:
        out = data.with_name("results.jsonl")
        command = [self._binary, "eval", "--reward", self.reference, "--data", str(data), "--out", str(out), "--parallel", "1"]
        if self.parameters:
            command += ["--with", json.dumps(self.parameters)]
        if self.fuel:
            command += ["--fuel", str(self.fuel)]
        done = subprocess.run(command, capture_output=True, text=True)
        if not out.exists():
            raise Difference(f"{self.reference} cannot be run in the sandbox:\n{done.stderr.strip()}")
        results = []
        for line in out.read_text(encoding="utf-8").splitlines():
            r = json.loads(line)
            known = {k: r[k] for k in ("id", "outcome", "score", "fuel", "reason", "metrics", "step_outputs") if r.get(k) is not None}
            if "score" in known:
                known["score"] = float(known["score"])
            results.append(Result(**known))
        return results


def native(said: Mapping[str, Any]) -> Result:
    """What the sandbox would make of a result, as ``python -m merit_reward`` writes it."""
    name, score = str(said["id"]), said.get("score")
    if said.get("error"):
        return Result(name, "guest_error", reason=str(said["error"]))
    rest = {
        "metrics": {k: m if isinstance(m, dict) else {"score": m} for k, m in (said.get("metrics") or {}).items()},
        "step_outputs": said.get("step_outputs") or [],
        "reason": said.get("reason") or "",
    }
    if not said.get("is_score_valid", True):
        return Result(name, "invalid", **rest)
    if not isinstance(score, (int, float)) or score != score or score in (float("inf"), float("-inf")):
        return Result(name, "abi_violation", reason=f"the score is {score!r}")
    return Result(name, "scored", float(score), **rest)


def _find() -> str:
    """The program merit: what MERIT_BINARY says, where it is installed with this package, or on the PATH."""
    for path in (os.environ.get(VARIABLE), os.path.join(os.path.dirname(sys.executable), "merit"), "merit"):
        found = shutil.which(path) if path else None
        if found:
            return found
    raise Difference(f"the program merit is not installed: install Merit's wheel, which brings it, or set {VARIABLE} to its path")
