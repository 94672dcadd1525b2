"""The steps of an agent's episode as trainers of language models have them: runs of sampled tokens."""

from __future__ import annotations

import inspect
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

#: Columns that only some estimators read, and that are sent only if an episode has them.
OPTIONAL = ("rewards", "role", "greedy_score")


class Steps:
    """Collects episodes and gives each of their steps its credit.

    An episode is one row of tokens with a mask: 1 for what the model sampled, 0
    for what the environment said. Each run of ones is a step. What an
    environment said before a step identifies the state in which it was taken,
    unless the rollout names its states itself.
    """

    def __init__(self) -> None:
        names = ("group", "trajectory", "step", "observation", "reward", "episode_score", *OPTIONAL)
        self.columns: Dict[str, List[Any]] = {name: [] for name in names}
        self.spans: List[Tuple[int, int, int]] = []  # row, first token, one past the last
        self._rows = 0

    def add(
        self,
        group: str,
        mask: Sequence[int],
        score: Optional[float],
        tokens: Optional[Sequence[int]] = None,
        rewards: Optional[Sequence[float]] = None,
        anchors: Optional[Sequence[str]] = None,
        parts: Optional[Mapping[str, Any]] = None,
        roles: Optional[Sequence[str]] = None,
        greedy_score: Optional[float] = None,
    ) -> None:
        """Adds an episode as the next row.

        ``score`` is ``None`` for an episode without one: it counts in no
        baseline, and its advantage is 0. ``rewards`` are those of the steps;
        without them the last step has the score. ``anchors`` name the state of
        each step; without them they are the ``tokens`` before it. ``parts`` are the
        scores of several rewards by name, each a number or a dict of ``score`` and
        ``weight``, for gdpo; ``roles`` say who decided in each step, for rae; and
        ``greedy_score`` is that of a greedy episode from the same start, for remax.
        """
        row, self._rows = self._rows, self._rows + 1
        spans = _runs(mask)
        for name, given in (("rewards", rewards), ("anchors", anchors), ("roles", roles)):
            if given is not None and len(given) != len(spans):
                raise ValueError(f"episode {row} of the batch has {len(spans)} steps and {len(given)} {name}")
        if len(spans) > 1 and anchors is None and tokens is None:
            raise ValueError(
                f"episode {row} of the batch has {len(spans)} steps, and nothing says in which states they were taken"
            )
        before = 0
        for step, (start, end) in enumerate(spans):
            if anchors is not None:
                anchor = str(anchors[step])
            else:
                anchor = " ".join(map(str, tokens[before:start])) if step and tokens is not None else ""
            reward = rewards[step] if rewards is not None else score if step == len(spans) - 1 else 0.0
            role = None if roles is None else str(roles[step])
            greedy = None if greedy_score is None else float(greedy_score)
            values = (group, f"{row}", step, anchor, None if score is None else reward, score, parts, role, greedy)
            for column, value in zip(self.columns.values(), values):
                column.append(value)
            self.spans.append((row, start, end))
            before = end

    def credit(self, config: Mapping[str, Any], *names: str) -> List[List[float]]:
        """What Merit's estimator gives the steps: a list for each of ``names``, in the order of ``spans``."""
        from merit_rl import advantages

        if not self.spans:
            return [[] for _ in names]
        columns = {
            name: column
            for name, column in self.columns.items()
            if name not in OPTIONAL or any(value is not None for value in column)
        }
        found = advantages(columns=columns, **config)
        return [list(found[name]) for name in names]


def _runs(mask: Sequence[int]) -> List[Tuple[int, int]]:
    """Where the ones of a mask begin and end."""
    text, runs, at = bytes(1 if m else 0 for m in mask), [], 0
    while (start := text.find(1, at)) >= 0:
        at = text.find(0, start)
        at = at if at >= 0 else len(text)
        runs.append((start, at))
    return runs


def of_steps(mask: Sequence[int], values: Sequence[float]) -> List[float]:
    """Values of tokens as those of steps: a step has those of its tokens and of what was said after it."""
    starts = [start for start, _ in _runs(mask)]
    return [sum(values[start:end]) for start, end in zip(starts, starts[1:] + [len(mask)])]


def over_tokens(
    rewards: Any, mask: Any, groups: Sequence[Any], tokens: Any, given: Mapping[str, Any], config: Mapping[str, Any]
) -> Tuple[Any, Any]:
    """Advantages and returns of a batch, each (rows, tokens) as ``rewards`` and ``mask``.

    ``tokens``, of the same shape, tell states apart. ``given`` has what rollouts
    added, a value for each row: ``unscored``, ``anchors``, ``parts``, ``roles``,
    ``greedy_score``.
    """
    steps, ids = Steps(), None if tokens is None else tokens.tolist()
    added = {name: given.get(name) for name in ("anchors", "parts", "roles", "greedy_score")}
    unscored = given.get("unscored")
    for i, (row, values) in enumerate(zip(mask.int().tolist(), rewards.tolist())):
        missing = unscored is not None and bool(unscored[i])
        steps.add(
            group=str(groups[i]),
            mask=row,
            score=None if missing else sum(values),
            rewards=of_steps(row, values),
            tokens=ids[i] if ids is not None else None,
            **{name: column[i] for name, column in added.items() if column is not None},
        )
    advantage, returned = steps.credit(config, "advantage", "return")
    advantages, returns = rewards.new_zeros(mask.shape), rewards.new_zeros(mask.shape)
    for (row, start, end), a, g in zip(steps.spans, advantage, returned):
        advantages[row, start:end], returns[row, start:end] = a, g or 0.0  # no return without a score
    return advantages, returns


def data_of_caller(depth: int) -> Any:
    """The variable ``data`` of the function ``depth`` calls above the caller's own, or None.

    verl and SkyRL give an estimator rewards, mask and groups, and call it where
    the rest of the batch is at hand.
    """
    frame = inspect.currentframe()
    for _ in range(depth + 1):
        frame = frame.f_back if frame else None
    return frame.f_locals.get("data") if frame else None
