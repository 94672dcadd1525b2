"""The tests of eval-protocol."""

from __future__ import annotations

from .base import Shape, listed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class EvalProtocol(Shape):
    """``f(row)``, or ``f(rows)`` for a group, gives rows with an ``evaluation_result``."""

    wants = frozenset(("messages", "ground_truth", "metadata", "rollout"))

    def many(self, members: "list[dict[str, Any]]") -> "list[Any]":
        from ..rows import row

        rows = [row(m) for m in members]
        results = listed(self.func(rows=rows), rows, "rows") if "rows" in self.names else [self.func(row=r) for r in rows]
        return [_taken(r) for r in results]


def _taken(result: "Any") -> "Any":
    if hasattr(result, "evaluation_result"):
        result = result.evaluation_result
        if result is None:
            raise ValueError("the row that the reward returned has no evaluation_result")
    return result
