"""An estimator of your own: the score of an episode against the median score of its state.

Episodes that pass through a state are compared with each other, once each, whatever their
number of visits. Half of them did better than the median, so a few lucky episodes do not
move it as they move a mean.

    merit advantages measure --file examples/estimator/median.py
"""

from statistics import median


def advantages(rows):
    scores = {}  # (group, observation) -> trajectory -> score
    for row in rows:
        key = (row["group"], row["observation"])
        scores.setdefault(key, {})[row["trajectory"]] = row["episode_score"]
    middle = {key: median(of.values()) for key, of in scores.items()}
    return [row["episode_score"] - middle[row["group"], row["observation"]] for row in rows]
