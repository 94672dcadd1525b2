"""The reward of every example in this folder: 1 if the last number of the answer is the right one.

It has no score where there is nothing to compare with.
"""

import re

from merit_reward import EvaluateResult, reward_function


@reward_function
def score(messages, ground_truth=None, **kwargs):
    if ground_truth is None:
        return EvaluateResult(is_score_valid=False, reason="there is no ground truth")
    numbers = re.findall(r"-?[0-9]+", messages[-1].text)
    return 1.0 if numbers and numbers[-1] == str(ground_truth) else 0.0
