"""A Merit reward in eval-protocol: a row in, the row with its evaluation_result out.

::

    @evaluation_test(input_dataset=["rows.jsonl"], rollout_processor=NoOpRolloutProcessor())
    def test_answers(row: EvaluationRow) -> EvaluationRow:
        return evaluated(row, reward)

A reward without a score is ``is_score_valid=False`` with the outcome as
``error``; eval-protocol leaves such rows out of its mean. Its ``score`` has to
be a number, so it is 0.0 there, as in eval-protocol's own examples.
"""

from __future__ import annotations

from typing import Any, Dict, List, Sequence, TypeVar

from merit_rl._groups import in_sequence
from merit_rl.results import Result

Row = TypeVar("Row")


def evaluated(row: Row, reward: Any) -> Row:
    """Returns the row with what ``reward`` says of it."""
    return evaluated_all([row], reward)[0]


def evaluated_all(rows: Sequence[Row], reward: Any) -> List[Row]:
    """Returns the rows with what ``reward`` says of each: for ``mode="all"`` and ``"groupwise"``.

    Rows with one ``row_id`` are a group, for rewards that compare.
    """
    made = [_trajectory(r, i) for i, r in enumerate(rows)]
    order = in_sequence([t["group"] for t in made])
    for i, result in zip(order, reward.evaluate([made[i] for i in order])):
        rows[i].evaluation_result = evaluate_result(result)  # type: ignore[attr-defined]
    return list(rows)


def evaluate_result(result: Result) -> Any:
    """The ``EvaluateResult`` of eval-protocol that says what ``result`` says."""
    from eval_protocol.models import EvaluateResult, MetricResult, StepOutput

    if result.score is None:
        return EvaluateResult(
            score=0.0, is_score_valid=False, reason=result.reason or result.outcome, error=_error(result)
        )
    steps = [
        StepOutput(step_index=s["step_index"], base_reward=s["base_reward"], reason=s.get("reason"))
        for s in result.step_outputs
    ]
    metrics = {name: MetricResult(**{"reason": "", **metric}) for name, metric in result.metrics.items()}
    return EvaluateResult(score=result.score, reason=result.reason or None, metrics=metrics, step_outputs=steps or None)


def _error(result: Result) -> str:
    return f"{result.outcome}: {result.reason}" if result.reason else result.outcome


def _trajectory(row: Any, i: int) -> Dict[str, Any]:
    given = row.input_metadata
    made: Dict[str, Any] = {
        "id": given.row_id or f"row-{i}",
        "group": given.row_id or "",
        "messages": row.messages,
        "columns": {**(given.dataset_info or {}), **(given.model_extra or {})},
    }
    if row.ground_truth is not None:
        made["ground_truth"] = row.ground_truth
    return made
