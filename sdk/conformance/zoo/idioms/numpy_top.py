import numpy as np


def mean_hits(completions, answer, **kwargs):
    return [np.float32(np.mean([a in w for w in c[0]["content"].split()])) for c, a in zip(completions, answer)]
