import random

random.seed(42)


def sampled(completions, **kwargs):
    out = []
    for c in completions:
        rng = random.Random(len(c[0]["content"]))
        words = c[0]["content"].split()
        out.append(rng.random() + rng.gauss(0, 1) + len(rng.choice(words)) + rng.sample(range(100), 5)[0] + rng.uniform(0, 1))
    return out
