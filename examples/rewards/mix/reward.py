"""A template: is it right, is it brief if it is right, and are its steps shown? Replace the parts by your own.

The parameter ``weights`` replaces the weights of parts, by name. Where parts read columns of the data, let ``reward`` take
``**columns`` and give them to ``mix``: each part gets those that it names.
"""

from __future__ import annotations

import re

from merit_reward import EvaluateResult, Message, reward_function

from mix import Part, mix

__merit__ = {"name": "mix"}

NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")


def right(messages: list[Message], ground_truth: object = None) -> dict[str, object] | float:
    """1 if the last number of the answer is that of the ground truth."""
    truth = NUMBER.findall(str(ground_truth))
    if not truth:
        return {"score": None, "is_score_valid": False, "reason": "the ground truth holds no number"}
    said = NUMBER.findall(messages[-1].text)
    return float(bool(said) and value(said[-1]) == value(truth[-1]))


def value(number: str) -> float:
    """A number as people write it."""
    return float(number.replace(",", ""))


def brief(messages: list[Message], *, words: int = 60) -> EvaluateResult:
    """1 for nothing, 0 from so many words on."""
    said = len(messages[-1].text.split())
    return EvaluateResult(score=max(0.0, 1 - said / words), metrics={"words": said})


def shown(messages: list[Message]) -> float:
    """The share of lines in which something is computed."""
    lines = [line for line in messages[-1].text.splitlines() if line.strip()]
    return sum("=" in line for line in lines) / len(lines) if lines else 0.0


PARTS = {
    "right": Part(1.0, right),
    "brief": Part(0.2, brief, given="right", words=80),
    "shown": Part(0.1, shown),
}


@reward_function
def reward(messages: list[Message], ground_truth: object = None, *, weights: dict[str, float] | None = None) -> EvaluateResult:
    """The weighted sum; invalid without an answer, or where a part has no score."""
    if not messages or messages[-1]["role"] != "assistant":
        return EvaluateResult(is_score_valid=False, reason="the conversation does not end with the assistant")
    parts = dict(PARTS)
    for name, weight in (weights or {}).items():
        if name not in parts:
            raise ValueError(f"weights names {name!r}; there is {', '.join(parts)}")
        p = parts[name]
        parts[name] = Part(weight, p.score, without=p.without, given=p.given, **p.parameters)
    return mix(parts, messages, ground_truth)
