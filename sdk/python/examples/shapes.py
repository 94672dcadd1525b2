"""Rewards in the shapes of trainers, in one file: choose one, as in shapes.py:boxed."""

import re

__merit__ = {"name": "shapes"}


def boxed(completions, ground_truth, log_metric=None, **kwargs):
    """TRL: everything is a list; a completion is a list of messages; None is no score."""
    scores = []
    for completion, truth in zip(completions, ground_truth):
        found = re.findall(r"\\boxed\{(.*?)\}", completion[-1]["content"])
        log_metric("boxes", len(found))
        scores.append(float(found[-1] == truth) if found else None)
    return scores


def tags(completions: list[str], *, required_tags: list[str], **kwargs) -> list[float]:
    """TRL, with completions as texts because list[str] says so, and a parameter."""
    return [sum(f"<{t}>" in c for t in required_tags) / len(required_tags) for c in completions]


def compute_score(data_source, solution_str, ground_truth, extra_info=None):
    """verl: a number, or a dict with a score; its other numbers are metrics."""
    answer = solution_str.split("####")[-1].strip()
    return {"score": float(answer == str(ground_truth)), "length": len(solution_str)}


def exact(messages, ground_truth=None, **kwargs):
    """reward-kit's."""
    return messages[-1].text == ground_truth
