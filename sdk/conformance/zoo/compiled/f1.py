"""F1 of the words of the answer and the truth, as SQuAD counts them."""

import collections
import re


def f1_reward(messages, ground_truth, **_):
    got, want = words(messages[-1].text), words(ground_truth)
    common = (got & want).total()
    if not common:
        return 0.0
    precision, recall = common / got.total(), common / want.total()
    return 2 * precision * recall / (precision + recall)


def words(text):
    return collections.Counter(re.findall("[a-z0-9]+", text.lower()))
