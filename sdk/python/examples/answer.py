"""Compares the number at the end of the last assistant message with the ground truth.

The rules stand in sdk/conformance/README.md: the same reward exists in every
language.
"""

import json
import re

from merit_reward import EvaluateResult, reward_function

SPACE = " \t\n\v\f\r"
NUMBER = re.compile(r"[0-9](?:[0-9]|,(?=[0-9]))*(?:\.[0-9](?:[0-9]|,(?=[0-9]))*)?")


@reward_function
def answer(messages, ground_truth=None, **kwargs):
    want = number(text_of(ground_truth))
    if want is None:
        return EvaluateResult(is_score_valid=False, reason="the ground truth holds no number")
    text = final(next((m.text for m in reversed(messages) if m["role"] == "assistant"), ""))
    if text is None:
        return EvaluateResult(score=0.0, reason="no answer after A: or ####")
    got = number(text)
    if got is None:
        return EvaluateResult(score=0.0, reason="the answer holds no number")
    return EvaluateResult(score=1.0 if got == want else 0.0)


def text_of(value):
    """A ground truth as text: a string, or its JSON."""
    return value if isinstance(value, str) else json.dumps(value)


def final(answer):
    """The text behind the last "A:" or "####" that begins a line."""
    for line in reversed(answer.split("\n")):
        line = line.strip(SPACE)
        for mark in ("A:", "####"):
            if line.startswith(mark):
                return line[len(mark) :]
    return None


def number(text):
    """The first number of a text with a currency sign, separators, units, a full stop."""
    found = NUMBER.search(text)
    if found is None:
        return None
    digits, before = found.group().replace(",", ""), text[: found.start()]
    if before.endswith(".") and "." in digits:
        return None
    if before.endswith("."):
        digits, before = "0." + digits, before[:-1]
    before = before.rstrip("$€£ ")
    value = float(digits)
    return -value if before.endswith(("-", "−")) else value
