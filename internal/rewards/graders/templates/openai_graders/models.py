"""Graders that ask a language model, which a configuration grants the reward: rewards[].ask."""

from __future__ import annotations

from merit_reward.ask import ask

STEP = {
    "type": "object",
    "properties": {"description": {"type": "string"}, "conclusion": {"type": "string"}},
    "required": ["description", "conclusion"],
    "additionalProperties": False,
}


def score_model(row, messages, low, high, **sampling):
    """The number that the model answers, within the range, and its conclusions as the reason."""
    said = _ask(row, messages, {"type": "number"}, sampling)
    return min(max(float(said["result"]), low), high), _why(said)


def label_model(row, messages, labels, passing, **sampling):
    """1 if the model answers one of the passing labels, else 0, and the label as the reason."""
    said = _ask(row, messages, {"type": "string", "enum": labels}, sampling)
    return float(said["result"] in passing), "; ".join(filter(None, (said["result"], _why(said))))


def _ask(row, messages, result, sampling):
    schema = {
        "type": "object",
        "properties": {"steps": {"type": "array", "items": STEP}, "result": result},
        "required": ["steps", "result"],
        "additionalProperties": False,
    }
    return ask([{"role": role, "content": row.text(content)} for role, content in messages], schema=schema, **sampling)


def _why(said):
    return " ".join(step["conclusion"] for step in said["steps"])
