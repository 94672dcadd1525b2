"""Writes surrogates.jsonl: the policy terms of a minibatch and their slopes, computed once more.
Run: python3 surrogates.py > surrogates.jsonl

Written from the formulas of the papers, not from Merit's code: the slope of each row by its
log-probability is a central difference of the sum, in which what the papers hold constant (the
geometric mean's other factors in token form, the choice of rows by covariance) is frozen.
"""
import json
import math
import random
import statistics


def clamp(x, low, high):
    return max(low, min(high, x))


def weighted(c):
    return [i for i, w in enumerate(c["weight"]) if w > 0]


def covariances(c, log_prob):
    rows = weighted(c)
    a, p = statistics.fmean(c["advantage"][i] for i in rows), statistics.fmean(log_prob[i] for i in rows)
    return {i: (c["advantage"][i] - a) * (log_prob[i] - p) for i in rows}


def clip(c, ratio, a):
    return -min(ratio * a, clamp(ratio, 1 - c["low"], 1 + c["high"]) * a)


def chosen(c, log_prob):
    """The rows that the covariance selects."""
    cov = covariances(c, log_prob)
    most = max(1, int(c["share"] * len(cov)))
    if c["surrogate"] == "kl-cov":
        return set(sorted(cov, key=lambda i: -cov[i])[:most])
    free = []
    for i in cov:
        ratio, a = math.exp(log_prob[i] - c["old"][i]), c["advantage"][i]
        if c["cov_low"] < cov[i] < c["cov_high"] and not clip(c, ratio, a) > -ratio * a:
            free.append(i)
    return set(free[:most])


def bounded(c, i, log_ratio):
    sign = 1 if c["advantage"][i] >= 0 else -1
    return sign * min(sign * log_ratio, sign * clamp(log_ratio, math.log(1 - c["low"]), math.log(1 + c["high"])))


def terms(c, log_prob, frozen):
    """The term of each row; frozen are the log-probabilities of what is held constant."""
    out, picked = [], chosen(c, frozen) if "cov" in c["surrogate"] else set()
    for i, a in enumerate(c["advantage"]):
        log_ratio = log_prob[i] - c["old"][i]
        ratio = math.exp(log_ratio)
        if c["surrogate"] == "sapo":
            tau = c["tau"][0] if a > 0 else c["tau"][1]
            out.append(-4 / tau / (1 + math.exp(-tau * (ratio - 1))) * a)
        elif c["surrogate"] == "gmpo":
            same = [j for j, s in enumerate(c["sequence"]) if s == c["sequence"][i]]
            mean = statistics.fmean(bounded(c, j, frozen[j] - c["old"][j]) for j in same)
            moved = bounded(c, i, log_ratio) - bounded(c, i, frozen[i] - c["old"][i])
            out.append(-a * math.exp(mean + moved))
        elif c["surrogate"] == "clip-cov":
            out.append(0.0 if i in picked else clip(c, ratio, a))
        else:
            out.append(-a * ratio + (c["kl"] * abs(log_ratio) if i in picked else 0.0))
    return out


def slopes(c):
    at, h, out = c["log_prob"], 1e-6, []
    for i in range(len(at)):
        up, down = list(at), list(at)
        up[i], down[i] = at[i] + h, at[i] - h
        out.append((sum(terms(c, up, at)) - sum(terms(c, down, at))) / (2 * h))
    return out


def main():
    rng = random.Random(20251120)
    for n in range(40):
        rows = rng.randint(4, 24)
        c = {
            "surrogate": ["sapo", "gmpo", "clip-cov", "kl-cov"][n % 4],
            "low": rng.choice([0.1, 0.3]), "high": rng.choice([0.2, 0.5]), "tau": [rng.choice([1.0, 3.0]), 1.05],
            "share": rng.choice([0.0002, 0.25]), "cov_low": rng.choice([0.0, 0.1]), "cov_high": rng.choice([0.6, 5.0]), "kl": rng.choice([0.3, 1.0]),
            "log_prob": [rng.uniform(-3, -0.05) for _ in range(rows)],
            "advantage": [rng.gauss(0, 1) for _ in range(rows)],
            "weight": [0.0 if rng.random() < 0.1 else 1.0 for _ in range(rows)],
            "sequence": [k // 3 for k in range(rows)],
        }
        c["old"] = [x + rng.gauss(0, 0.3) for x in c["log_prob"]]
        print(json.dumps({**c, "terms": terms(c, c["log_prob"], c["log_prob"]), "slopes": slopes(c)}))


if __name__ == "__main__":
    main()
