"""The reward.py of a folder with mix.py, and copies of ../length/reward.py and ../repetition/reward.py as length.py and repetition.py."""

from merit_reward import reward_function

import length
import repetition
from mix import Part, mix


def exact(messages, ground_truth=None):
    return float(messages[-1].text.rpartition("####")[2].strip() == ground_truth)


@reward_function
def reward(messages, ground_truth=None, **columns):
    parts = {
        "exact": Part(1.0, exact),
        "length": Part(0.2, length.reward, curve="overlong", maximum=2000, cache=500),
        "repetition": Part(0.5, repetition.reward, size=4),
        "style": Part(0.1, length.reward, without=0.0, unit="tokens", maximum=512),  # no column tokens: counts 0
    }
    return mix(parts, messages, ground_truth, columns)
