"""Ranks the members of a group: the shortest right answer is best.

The rules stand in sdk/conformance/README.md: the same reward exists in every
language.
"""

import json

from merit_reward import EvaluateResult, reward_function

SPACE = " \t\n\v\f\r"


@reward_function(mode="batch")
def ranking(rollouts_messages, ground_truths, **kwargs):
    wanted = [text_of(g).strip(SPACE) for g in ground_truths]
    answers = [answer_of(messages) for messages in rollouts_messages]
    lengths = [len((a or "").encode()) for a in answers]
    right = [a is not None and bool(w) and last_line(a) == w for a, w in zip(answers, wanted)]
    good = [n for n, r in zip(lengths, right) if r]
    results = []
    for a, w, n, r in zip(answers, wanted, lengths, right):
        if not w:
            results.append(EvaluateResult(is_score_valid=False, reason="no ground truth"))
        elif a is None:
            results.append(EvaluateResult(is_score_valid=False, reason="no answer"))
        elif not r:
            results.append(EvaluateResult(score=0.0, metrics={"length": n}))
        else:
            shorter = sum(g < n for g in good)
            score = (len(good) - shorter) / len(good)
            results.append(EvaluateResult(score=score, metrics={"length": n, "rank": shorter + 1}))
    return results


def text_of(value):
    """A ground truth as text: a string, or its JSON; nothing if there is none."""
    return value if isinstance(value, str) else "" if value is None else json.dumps(value)


def answer_of(messages):
    """The last assistant message, or None."""
    return next((m.text for m in reversed(messages) if m["role"] == "assistant"), None)


def last_line(answer):
    return answer.strip(SPACE).rpartition("\n")[2].strip(SPACE)
