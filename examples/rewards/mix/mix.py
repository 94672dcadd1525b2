"""Several rewards as one: a weighted sum with the metrics of each part. Copy it beside your reward.py."""

from __future__ import annotations

from merit_reward import EvaluateResult, StepOutput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

    from merit_reward import Message


class Part:
    """A reward function with its weight.

    ``without`` is the score that stands in where the part has none; None, the default, leaves the whole without one.
    ``given`` names an earlier part: where that has scored 0 or less, this one counts 0, so that style pays only for what is right.
    """

    def __init__(self, weight: float, score: Callable[..., Any], *, without: float | None = None, given: str = "", **parameters: Any) -> None:
        self.weight, self.score, self.without, self.given, self.parameters = weight, score, without, given, parameters
        code = score.__code__
        self.takes = frozenset(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
        self.takes_all = bool(code.co_flags & 0x08)  # **columns
        if (wrong := sorted(parameters.keys() - self.takes)) and not self.takes_all:
            raise TypeError(f"a part's {score.__name__} does not take {', '.join(wrong)}; it takes {', '.join(sorted(self.takes))}")

    def __call__(self, given: dict[str, Any]) -> Any:
        """What the function says; of columns it gets those that it takes, and its own parameters win."""
        arguments = {**given, **self.parameters}
        return self.score(**{k: v for k, v in arguments.items() if self.takes_all or k in self.takes})


def mix(parts: dict[str, Part], messages: list[Message], ground_truth: Any = None, columns: dict[str, Any] | None = None) -> EvaluateResult:
    """The weighted sum of the parts, as Merit itself composes several rewards.

    Each part's score is a metric with the part's name, and its own metrics stand behind it: ``length``, ``length/length``. An
    exception of a part is one of the whole. Where some parts give step rewards, the score of the others counts at the last step.
    """
    scores: dict[str, float] = {}
    metrics: dict[str, Any] = {}
    steps: dict[int, float] = {}
    reasons, last, stepless = [], sum(m["role"] == "assistant" for m in messages) - 1, 0.0
    for name, part in parts.items():
        if part.given and scores[part.given] <= 0:
            scores[name] = metrics[name] = 0.0
            continue
        result = as_result(part({**(columns or {}), "messages": messages, "ground_truth": ground_truth}))
        score = float(result.score) if result.is_score_valid else part.without
        if score is None:
            return EvaluateResult(is_score_valid=False, reason=f"{name}: {result.reason}")
        scores[name] = metrics[name] = score
        metrics.update({f"{name}/{k}": m for k, m in result.metrics.items()})
        if result.reason:
            reasons.append(f"{name}: {result.reason}")
        for s in result.step_outputs or ():
            steps[s.step_index] = steps.get(s.step_index, 0.0) + part.weight * s.base_reward
        stepless += 0.0 if result.step_outputs else part.weight * score
    whole = EvaluateResult(score=sum(parts[n].weight * s for n, s in scores.items()), reason="; ".join(reasons), metrics=metrics)
    if steps:
        steps[last] = steps.get(last, 0.0) + stepless
        whole.step_outputs = [StepOutput(step_index=i, base_reward=r) for i, r in sorted(steps.items())]
    return whole


def as_result(said: Any) -> EvaluateResult:
    """What a reward function may return, a result, a dict like it or a number, as a result."""
    result = said if isinstance(said, EvaluateResult) else EvaluateResult(**said) if isinstance(said, dict) else EvaluateResult(score=float(said))
    if result.error:
        raise RuntimeError(result.error)
    return result
