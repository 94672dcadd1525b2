"""Reads the columns task and id, which Merit has names for, too."""

WEIGHTS = {"arithmetic": 1.0, "algebra": 0.5, "German": 2.0}


def by_task(completions, task, id, **kwargs):
    return [WEIGHTS.get(t, 0.25) * len(c) + int(i.split("-")[1]) / 100 for c, t, i in zip(completions, task, id)]
