"""Scores a headline for a review: it names what the review is about in at most
six words.

No judge is needed: the word that must be named stands in the ground truth, and
words can be counted. A headline that is too long gets half of the score up to
twelve words, as a review that is copied has, and a quarter beyond.
"""

import re

from merit_reward import EvaluateResult, reward_function

SHORT, COPIED = 6, 12  # words


@reward_function
def headline(messages, ground_truth, **kwargs):
    words = re.findall(r"[\w']+", messages[-1].content.lower())
    if ground_truth.lower() not in words:
        return EvaluateResult(score=0.0, reason="it does not name what the review is about")
    if len(words) <= SHORT:
        return EvaluateResult(score=1.0, reason="short, and it names what the review is about")
    score = 0.5 if len(words) <= COPIED else 0.25
    return EvaluateResult(score=score, reason=f"it has {len(words)} words, and a headline at most {SHORT}")
