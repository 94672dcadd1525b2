"""Merit's red flags while another trainer trains.

:class:`Watch` keeps the metrics of a trainer in a file, and lets ``merit watch`` look at it::

    watch = Watch("metrics.jsonl")
    for flag in watch.log(step, {"reward": 0.4, "entropy": 1.2}):
        print(flag["name"], flag["evidence"])

For TRL there is a callback::

    from merit_rl.watching import trl_callback

    GRPOTrainer(..., callbacks=[trl_callback(on_alarm="stop")])

verl 0.9 has no callbacks. Its file logger (``trainer.logger='["console", "file"]'``) writes what ``merit watch``
reads.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
from typing import Any, Dict, List, Mapping, Optional, Sequence, Set, Tuple

from . import _binary
from ._lines import log as _log
from .errors import InvalidInput, Unavailable

_ACTIONS = ("warn", "stop")


class Watch:
    """Looks at the metrics of a training for red flags.

    ``path`` is the file for the metrics, which is continued if it exists. It is looked at with every
    ``every``-th row. ``arguments`` are further ones of ``merit watch``, such as ``["--watch", "accuracy"]``.
    """

    def __init__(self, path: str, every: int = 10, window: int = 10, arguments: Sequence[str] = ()) -> None:
        if every < 1:
            raise InvalidInput("every must be at least 1", where="every", hint="leave it out to look at each tenth row")
        self.path, self._every, self._rows = path, every, 0
        self._known: Set[Tuple[str, str, int]] = set()
        self._command = ["watch", path, "--json", "--window", str(window), *arguments]

    def log(self, step: int, metrics: Mapping[str, Any]) -> List[Dict[str, Any]]:
        """Adds the metrics of a step, and returns new flags: objects as ``merit watch --json`` has them."""
        row = {name: value for name, value in metrics.items() if _finite(value)}
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps({**row, "step": step}) + "\n")
        self._rows += 1
        return self.look() if self._rows % self._every == 0 else []

    def look(self) -> List[Dict[str, Any]]:
        """Looks now, and returns the flags that are new. Raises Unavailable if merit cannot read the metrics."""
        done = subprocess.run([_binary.find(), *self._command], capture_output=True, check=False)
        if done.returncode != 0:
            said = done.stderr.decode("utf-8", "replace").strip()
            raise Unavailable(said, where=self.path, hint="run merit watch on the file")
        fresh = []
        for flag in json.loads(done.stdout)["flags"]:
            key = (flag["name"], flag["level"], flag["iteration"])
            if key not in self._known:
                self._known.add(key)
                fresh.append(flag)
        return fresh


def _finite(value: Any) -> bool:
    return isinstance(value, (int, float)) and math.isfinite(value)


def trl_callback(
    path: Optional[str] = None, on_alarm: str = "warn", every: int = 10, window: int = 10, arguments: Sequence[str] = ()
) -> Any:
    """A callback of transformers for TRL's trainers: it watches what they log.

    Every red flag is logged. With ``on_alarm="stop"``, training stops after an alarm, and a checkpoint is saved.
    If TRL logs completions (``log_completions``), those of the last step are copied to
    ``OUTPUT_DIR/flagged``, so that they can be read with ``merit view``. The metrics are in ``path``, by default
    ``OUTPUT_DIR/merit-metrics.jsonl``. Only the first process watches.
    """
    from transformers import TrainerCallback

    if on_alarm not in _ACTIONS:
        raise InvalidInput(f"on_alarm is {on_alarm!r}", where="on_alarm", hint="use warn or stop")

    class WatchCallback(TrainerCallback):  # type: ignore[misc]
        watch: Optional[Watch] = None
        flags: List[Dict[str, Any]] = []  # all so far

        def on_log(
            self, args: Any, state: Any, control: Any, logs: Optional[Mapping[str, Any]] = None, **_: Any
        ) -> None:
            if not state.is_world_process_zero or not logs or "reward" not in logs:
                return
            if self.watch is None:
                os.makedirs(args.output_dir, exist_ok=True)
                file = path or os.path.join(args.output_dir, "merit-metrics.jsonl")
                self.watch, self.flags = Watch(file, every, window, arguments), []
            try:
                fresh = self.watch.log(state.global_step, logs)
            except Unavailable as failed:
                _log.warning("red flags are not watched: %s", failed)
                return
            self.flags += fresh
            for flag in fresh:
                said = [flag[key] for key in ("iteration", "name", "level", "evidence", "advice")]
                _log.warning("step %d: %s (%s): %s; %s", *said)
            if fresh:
                _keep(args.output_dir)
            if on_alarm == "stop" and any(flag["level"] == "alarm" for flag in fresh):
                control.should_training_stop = control.should_save = True

    return WatchCallback()


def _keep(folder: str) -> None:
    """Copies the completions that TRL logged last."""
    completions = os.path.join(folder, "completions")
    names = sorted(os.listdir(completions)) if os.path.isdir(completions) else []
    if names:
        kept = os.path.join(folder, "flagged")
        os.makedirs(kept, exist_ok=True)
        shutil.copy2(os.path.join(completions, names[-1]), kept)
