"""How Merit reads what a reward returns."""

from __future__ import annotations

from .models import EvaluateResult, MetricResult, StepOutput, _Result, check_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NAMES, METRIC, STEP = (frozenset(kind._defaults) for kind in (EvaluateResult, MetricResult, StepOutput))
PLAIN = frozenset((float, int, bool, type(None)))  # the host reads these as they are
FLAT = PLAIN | {str}
RETURN = "return a number, an EvaluateResult, or a dict or a dataclass with a score"


def number(value: "Any") -> "Any":
    """The number that a value is: what Python's float() takes, such as a Fraction or a scalar of numpy, but no text; else None."""
    if value.__class__ is float or isinstance(value, (int, float)):
        return value
    if isinstance(value, type) or isinstance(value, (str, bytes, bytearray)):
        return None
    if not hasattr(value, "__float__") and not hasattr(value, "__index__"):
        value = value.item() if hasattr(value, "item") else None
    try:
        return None if value is None else float(value)
    except (TypeError, ValueError):  # such as an array of several numbers
        return None


def fields(value: "Any") -> "dict[str, Any] | None":
    """The fields of a result: those of a dict, a named tuple, a dataclass or another object; None if it has none."""
    if isinstance(value, dict):
        return value
    if isinstance(value, _Result):
        return value.__dict__
    if isinstance(value, type):
        return None
    if hasattr(value, "_asdict"):
        return value._asdict()  # type: ignore[no-any-return]
    if hasattr(value, "__dataclass_fields__"):
        return {k: getattr(value, k) for k in value.__dataclass_fields__}
    return getattr(value, "__dict__", None)


def plain(result: "Any") -> "Any":
    """A result as a number or a dict of plain values; those of metrics and steps alike."""
    kind = result.__class__
    if kind is EvaluateResult:
        said = result.__dict__
        if len(said) == 1 and said.get("score").__class__ is float:
            return said["score"]
        if "trajectory_info" in said or not FLAT.issuperset(map(type, said.values())):
            return _known(said)
        return said
    if kind is float or kind is int or kind is bool:
        return result
    if kind is dict:
        said = result
        if len(said) == 1 and said.get("score").__class__ is float:
            return said["score"]
    elif (n := number(result)) is not None:
        return float(n)
    else:
        said = fields(result)
    if said and ("score" in said or "error" in said):
        return _known(said)
    if said and isinstance(result, dict):
        check_names("the result", said, NAMES)
    raise TypeError(f"the reward returned {kind.__name__} {str(result)[:200]!r}; {RETURN}")


def _known(said: "Any") -> "dict[str, Any]":
    """The fields that Merit reads, with metrics and steps as dicts."""
    out = {k: said[k] for k in ("score", "is_score_valid", "reason", "error") if k in said}
    if not FLAT.issuperset(map(type, out.values())):
        _flatten(out)
    if "score" in out and out["score"].__class__ not in PLAIN:
        out["score"] = _scalar(out["score"], "the score")
    if len(out) == len(said):
        return out
    metrics, steps = said.get("metrics"), said.get("step_outputs")
    if len(out) + (metrics is not None) + (steps is not None) < len(said):  # whoever takes the result says which of these are misspelt
        out.update({k: None for k in said if k.__class__ is str and k not in out})
    if metrics:
        out["metrics"] = _metrics(metrics)
    if steps is not None and len(steps):
        out["step_outputs"] = [_step(s) for s in steps]
    return out


def _flatten(out: "dict[str, Any]") -> None:
    """Makes plain values of what is like them: the host would take a scalar of numpy for bytes."""
    for key, kind in (("is_score_valid", bool), ("reason", str), ("error", str), ("step_index", int)):
        value = out.get(key)
        if value.__class__ not in FLAT and (kind is not str or isinstance(value, str)):
            out[key] = kind(value)


def _scalar(value: "Any", what: str) -> "Any":
    """A number as the host reads it; a text goes to the host, which names it."""
    if value.__class__ in PLAIN:
        return value
    if isinstance(value, str):
        return str(value)
    if (n := number(value)) is None:
        raise TypeError(f"{what} is {type(value).__name__} {str(value)[:200]!r}; return a number")
    return float(n)


def _metrics(metrics: "Any") -> "dict[str, Any]":
    return {name if name.__class__ is str or not isinstance(name, str) else str(name): _metric(name, m) for name, m in metrics.items()}


def _metric(name: str, metric: "Any") -> "Any":
    if metric.__class__ is float:
        return metric
    if metric.__class__ is MetricResult:
        said = metric.__dict__
    elif (n := number(metric)) is not None:
        return n if n.__class__ in PLAIN else float(n)
    elif (said := fields(metric)) is None:
        raise TypeError(f"the metric {name!r} is {type(metric).__name__} {str(metric)[:200]!r}; return a number")
    out = {f: said[f] for f in ("score", "is_score_valid", "reason") if f in said}
    if not FLAT.issuperset(map(type, out.values())):
        _flatten(out)
    if len(out) < len(said):
        check_names("a metric", said, METRIC)
    if "score" in out and out["score"].__class__ not in PLAIN:
        out["score"] = _scalar(out["score"], f"the metric {name!r}")
    return out


def _step(step: "Any") -> "dict[str, Any]":
    said = step.__dict__ if step.__class__ is StepOutput else fields(step) or {}
    out = {k: said[k] for k in ("step_index", "base_reward", "reason") if k in said}
    if not FLAT.issuperset(map(type, out.values())):
        _flatten(out)
    if len(out) < len(said):
        check_names("a step output", said, STEP)
    if "base_reward" in out and out["base_reward"].__class__ not in PLAIN:
        out["base_reward"] = _scalar(out["base_reward"], "base_reward of a step output")
    if said.get("metrics"):
        out["metrics"] = _metrics(said["metrics"])
    return out
