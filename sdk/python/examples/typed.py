"""A reward that type checkers understand, with a parameter and an evaluation of steps."""

from __future__ import annotations

from merit_reward import EvaluateResult, Message, MetricResult, Rollout, StepOutput, reward_function


@reward_function
def score(messages: list[Message], ground_truth: str | None = None, *, bonus: float = 0.1) -> EvaluateResult:
    said = messages[-1].text
    if ground_truth is None:
        return EvaluateResult(is_score_valid=False, reason="no ground truth")
    calls = sum(len(m.tool_calls or []) for m in messages)
    right = said.split("####")[-1].strip() == ground_truth
    return EvaluateResult(score=right + bonus * (calls > 0), metrics={"calls": MetricResult(score=calls)})


@reward_function()
def steps(rollout: Rollout) -> EvaluateResult:
    outputs = [StepOutput(step_index=s.index, base_reward=1.0 if s.action_valid else 0.0) for s in rollout.steps]
    return EvaluateResult(score=float(bool(rollout.answer)), step_outputs=outputs)
