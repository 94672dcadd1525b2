"""What a reward says of a batch: figures for the trainer, and warnings that are logged once."""

from __future__ import annotations

import threading
from typing import Any, Callable, Dict, List, Mapping, Optional, Set, Tuple

from .errors import Unscored
from .results import SCORED, fits_float32

LogMetric = Callable[[str, float], None]

#: Why a completion has no score here, though the reward gave one.
TOO_LARGE = "beyond_float32"


#: How many scores have to be equal until it is a warning that they are.
MANY = 64


class Tally:
    """The outcomes and the metrics of a batch."""

    def __init__(self, name: str, n: int) -> None:
        self.name, self.n = name, n
        self.outcomes: Dict[str, int] = {}
        self.first: Dict[str, str] = {}
        self.scores: List[float] = []
        self._metrics: Dict[str, Tuple[float, int]] = {}

    def add(self, i: int, said: Mapping[str, Any]) -> Optional[float]:
        """Counts what the server says of completion i, and returns its score."""
        outcome, reason, score = said["outcome"], said.get("reason") or "no reason given", None
        if outcome == SCORED:
            score = float(said["score"])
            if not fits_float32(score):
                outcome, reason, score = TOO_LARGE, f"trainers hold scores in float32, where {score:g} is infinite", None
        self.outcomes[outcome] = self.outcomes.get(outcome, 0) + 1
        if score is not None:
            self.scores.append(score)
        else:
            self.first.setdefault(outcome, f"completion {i}: {outcome}: {reason}")
        for name, m in (said.get("metrics") or {}).items():
            if m.get("is_score_valid"):
                total, count = self._metrics.get(name, (0.0, 0))
                self._metrics[name] = total + m["score"], count + 1
        return score

    @property
    def unscored(self) -> int:
        """How many completions have no score."""
        return self.n - self.outcomes.get(SCORED, 0)

    def log(self, log_metric: LogMetric, seen: List[str]) -> None:
        """Gives a trainer the figures: how many have no score, by outcome, and the means of the reward's metrics."""
        log_metric(f"merit/{self.name}/unscored", self.unscored)
        for outcome in seen:  # 0 too, so that means are means
            log_metric(f"merit/{self.name}/{outcome}", self.outcomes.get(outcome, 0))
        for name, (total, count) in self._metrics.items():
            if fits_float32(total / count):
                log_metric(f"{self.name}/{name}", total / count)

    def error(self) -> Unscored:
        """What is raised instead of returning completions without a score."""
        return Unscored(
            f"{self.unscored} of {self.n} completions have no score",
            where=self.name,
            problems=[{"what": w} for w in self.first.values()],
            hint='a failed reward is never 0: correct the reward, or use on_unscored="none"',
        )


class Said:
    """What was logged already, and which outcomes there have been. It may be pickled."""

    def __init__(self) -> None:
        self._keys: Set[str] = set()
        self._outcomes: List[str] = []
        self._scores: Set[float] = set()  # all that there have been, at most two
        self._count = 0
        self._lock = threading.Lock()

    def once(self, key: str) -> bool:
        """Whether this is the first time."""
        with self._lock:
            new = key not in self._keys
            self._keys.add(key)
            return new

    def outcomes(self, tally: Tally) -> "Tuple[List[str], List[str]]":
        """The failures that are new in ``tally``, and all that there have been."""
        with self._lock:
            new = [o for o in tally.outcomes if o != SCORED and o not in self._outcomes]
            self._outcomes += new
            return new, [*self._outcomes]

    def constant(self, scores: List[float]) -> bool:
        """Whether these and all scores before them are one number, and there are many by now."""
        with self._lock:
            self._count += len(scores)
            if len(self._scores) < 2:
                self._scores.update(scores)
            return bool(scores) and len(self._scores) == 1 and self._count >= MANY

    def __getstate__(self) -> Dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if k != "_lock"}

    def __setstate__(self, state: Dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.Lock()
