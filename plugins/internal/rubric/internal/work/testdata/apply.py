"""Applies rules to outputs, each rule compiled once: for tests."""

import json

from merit_reward import EvaluateResult, reward_function


@reward_function
def apply(messages, ground_truth, **_):
    scores = []
    for code in ground_truth["rules"]:
        space = {}
        exec(code, space)
        scores.append([space["rule"](output, ground_truth["task"]) for output in ground_truth["outputs"]])
    return EvaluateResult(score=0.0, reason=json.dumps([[round(float(s), 6) for s in row] for row in scores]))
