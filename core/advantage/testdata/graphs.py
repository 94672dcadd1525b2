"""Writes graphs.jsonl: what the estimators after hgpo give, computed once more.
Run: python3 graphs.py > graphs.jsonl

Written from the formulas in the papers and in the comments of core/advantage, not from its
code: dictionaries instead of arrays, relaxation until nothing changes instead of breadth-first
search, the statistics module instead of running sums, one group at a time.
"""
import json
import random
import statistics

EPSILON, SCALE = 1e-6, 10


def compared(x, others, std):
    """x among the values of others, divisor n-1; alone it is 0."""
    if len(others) < 2:
        return 0.0
    mean = statistics.fmean(others)
    return (x - mean) / (statistics.stdev(others) + EPSILON if std else 1.0)


def leaving(paths, value):
    """The values of all steps that leave each state."""
    found = {}
    for p in paths:
        for t, state in enumerate(p["states"]):
            found.setdefault(state, []).append(value(p, t))
    return found


def episode(group, p, std):
    return compared(p["score"], [q["score"] for q in group], std)


def episode_of_batch(groups, c):
    """How far the return of each step is above the mean of all steps, by trajectory."""
    everything = [g for group in groups for p in group for g in returns(p, c["gamma"])]
    return lambda p, t: compared(returns(p, c["gamma"])[t], everything, True)


def first(group, p, t, c):
    return c["batch"](p, t) if c["batch"] else episode(group, p, c["std"])


def distances(group, least):
    edges, won = set(), "(won)"
    for p in group:
        succeeded = p["score"] > least and not p["truncated"]
        behind = won if succeeded else ("(end)", id(p))
        edges |= set(zip(p["states"], p["states"][1:] + [behind]))
    d = {won: 0}
    while True:
        better = {u: d[v] + 1 for u, v in edges if v in d and d[v] + 1 < d.get(u, 1 << 30)}
        if not better:
            break
        for u, n in better.items():
            d[u] = min(n, d.get(u, 1 << 30))
    far = max(d.values()) + 1
    return lambda state: d.get(state, far), won


def graphgpo(group, c):
    d, won = distances(group, c["success_score"])

    def q(p, t):
        if t + 1 < len(p["states"]):
            after = d(p["states"][t + 1])
        else:
            after = d(won) if p["score"] > c["success_score"] and not p["truncated"] else d("(end)")
        exponent = after if c["distance"] == "next" else after - d(p["states"][t]) + 1
        return SCALE * c["distance_decay"] ** exponent

    among = leaving(group, q)
    return [
        [first(group, p, t, c) + c["omega"] * compared(q(p, t), among[s], True) for t, s in enumerate(p["states"])]
        for p in group
    ]


def g2po(group, c):
    visits = leaving(group, lambda p, t: c["gamma"] ** (len(p["states"]) - t) * p["score"])
    value = {s: statistics.fmean(v) for s, v in visits.items()}

    def after(p, t):
        return value[p["states"][t + 1]] if t + 1 < len(p["states"]) else p["score"]

    among = leaving(group, after)
    gains = [after(p, t) - value[s] for p in group for t, s in enumerate(p["states"])]
    return [
        [
            first(group, p, t, c)
            + c["omega"] * (compared(after(p, t), among[s], c["std"]) + compared(after(p, t) - value[s], gains, c["std"]))
            for t, s in enumerate(p["states"])
        ]
        for p in group
    ]


def returns(p, gamma):
    out, g = [], 0.0
    for r in reversed(p["rewards"]):
        g = r + gamma * g
        out.insert(0, g)
    return out


def gagpo(group, c):
    visits = leaving(group, lambda p, t: returns(p, c["gamma"])[t])
    value = {s: statistics.fmean(v) for s, v in visits.items()}
    all_of_them = []
    for p in group:
        v = [value[s] for s in p["states"]] + [0.0]
        deltas = [r + c["gamma"] * v[t + 1] - v[t] for t, r in enumerate(p["rewards"])]
        decay = c["gamma"] * c["lambda"]
        all_of_them.append([sum(decay**k * x for k, x in enumerate(deltas[t:])) for t in range(len(deltas))])
    flat = [a for p in all_of_them for a in p]
    return [[compared(a, flat, c["std"]) for a in p] for p in all_of_them]


def same(group, number):
    return [[number(p)] * len(p["states"]) for p in group]


def opo(group, c):
    steps = sum(len(p["states"]) for p in group)
    baseline = sum(len(p["states"]) * p["score"] for p in group) / steps
    return same(group, lambda p: p["score"] - baseline if len(group) > 1 else 0.0)


def maxrl(group, c):
    mean = statistics.fmean(p["score"] for p in group)
    return same(group, lambda p: (p["score"] - mean) / mean if mean and len(group) > 1 else 0.0)


def grpo_passk(group, c):
    if len(group) < 2:
        return same(group, lambda p: 0.0)
    scores = sorted((p["score"] for p in group), reverse=True)
    f = statistics.stdev(scores) + EPSILON if c["std"] else 1.0
    return same(group, lambda p: (scores[0] - scores[1]) / f if p["score"] == scores[0] else 0.0)


def baseline(groups, c):
    less = [[[episode(g, p, False)] * len(p["states"]) for p in g] for g in groups]
    flat = [a for g in less for p in g for a in p]
    return [[[compared(a, flat, True) for a in p] for p in g] for g in less]


def whitened(groups, values, once):
    """values[g][p], one for every step; each counts once an episode, or once a step."""
    flat = [v for g, vs in zip(groups, values) for p, v in zip(g, vs) for _ in (p["states"][:1] if once else p["states"])]
    return [[[compared(v, flat, True)] * len(p["states"]) for p, v in zip(g, vs)] for g, vs in zip(groups, values)]


def gdpo(groups, c):
    once = c["baseline_over"] == "trajectories"
    sums = []
    for g in groups:
        total = [0.0] * len(g)
        for name, weight in c["weights"].items():
            if name not in g[0]["judged"]:
                continue
            counted = [p["judged"][name] for p in g for _ in (p["states"][:1] if once else p["states"])]
            for k, p in enumerate(g):
                total[k] += weight * compared(p["judged"][name], counted, True)
        sums.append(total)
    return whitened(groups, sums, once)


def rae(group, c):
    earned = []
    for p in group:
        earned.append({})
        for role, r in zip(p["roles"], p["rewards"]):
            earned[-1][role] = earned[-1].get(role, 0.0) + r
    out = []
    for k, p in enumerate(group):
        others = {role: [e[role] for j, e in enumerate(earned) if j != k and role in e] for role in p["roles"]}
        own = {role: earned[k][role] - statistics.fmean(x) if x else 0.0 for role, x in others.items()}
        out.append([own[role] for role in p["roles"]])
    return out


def remax(group, c):
    return same(group, lambda p: p["score"] - group[0]["greedy"])


def grpo(group, c):
    return [[episode(group, p, c["std"])] * len(p["states"]) for p in group]


def rloo(group, c):
    def less(k):
        others = [q["score"] for j, q in enumerate(group) if j != k]
        return group[k]["score"] - statistics.fmean(others) if others else 0.0

    return [[less(k)] * len(p["states"]) for k, p in enumerate(group)]


def reinforce_pp(groups, c):
    flat = [g for group in groups for p in group for g in returns(p, c["gamma"])]
    return [[[compared(g, flat, True) for g in returns(p, c["gamma"])] for p in group] for group in groups]


def gae(group, c):
    out = []
    for p in group:
        v = p["values"] + [0.0]
        deltas = [r + c["gamma"] * v[t + 1] - v[t] for t, r in enumerate(p["rewards"])]
        decay = c["gamma"] * c["lambda"]
        out.append([sum(decay**k * x for k, x in enumerate(deltas[t:])) for t in range(len(deltas))])
    return out


def flow_grpo(group, c):
    return grpo(group, {**c, "std": True})


def hgpo(group, c):
    """Nested groups by the last states, up to the third; a level without differences does not count."""
    gains = [returns(p, c["gamma"]) for p in group]
    out = []
    for k, p in enumerate(group):
        row = []
        for t in range(len(p["states"])):
            scores = [q["score"] for q in group]
            parts = [(1.0, episode(group, p, c["std"]))] if len(set(scores)) > 1 else []
            for j in range(1, min(3, t + 1) + 1):
                like = [
                    gains[m][s]
                    for m, q in enumerate(group)
                    for s in range(j - 1, len(q["states"]))
                    if q["states"][s - j + 1 : s + 1] == p["states"][t - j + 1 : t + 1]
                ]
                if len(set(like)) > 1:
                    parts.append((j + 1.0, compared(gains[k][t], like, c["std"])))
            row.append(sum(w * a for w, a in parts) / sum(w for w, _ in parts) if parts else 0.0)
        out.append(row)
    return out


def more(rng, groups, c):
    """What the estimators of several rewards, roles and greedy episodes read."""
    c["baseline_over"] = rng.choice(["trajectories", "steps"])
    c["weights"] = {"form": rng.choice([0.25, 1.0]), "length": 0.5, "right": 1.0}
    for g in groups:
        names = rng.sample(sorted(c["weights"]), rng.randint(1, 3))
        greedy = rng.random()
        for p in g:
            p["judged"] = {name: rng.choice([0.0, 1.0, rng.uniform(-9, 9)]) for name in names}
            p["roles"] = [rng.choice(["buyer", "seller", "judge"]) for _ in p["states"]]
            p["greedy"] = greedy


def path(rng, states):
    length = rng.randint(1, 9)
    score = rng.choice([0.0, 0.0, 1.0, 1.0, 0.25, rng.random()])
    rewards = [rng.choice([0.0, 0.0, rng.uniform(-1, 1)]) for _ in range(length)]
    rewards[-1] += score
    return {
        "states": [rng.choice(states) for _ in range(length)],
        "rewards": rewards,
        "score": score,
        "truncated": rng.random() < 0.2,
    }


def gigpo(group, c):
    among = leaving(group, lambda p, t: returns(p, c["gamma"])[t])
    return [
        [
            first(group, p, t, c) + c["omega"] * compared(returns(p, c["gamma"])[t], among[s], c["std"])
            for t, s in enumerate(p["states"])
        ]
        for p in group
    ]


def batches(rng):
    """The estimators that add a step advantage to the returns of the whole batch."""
    for n in range(24):
        estimator = [gigpo, graphgpo, g2po][n % 3]
        c = {
            "gamma": rng.choice([0.5, 0.95]),
            "lambda": 0.95,
            "omega": rng.choice([0.5, 2.0]),
            "std": n % 2 == 0,
            "success_score": 0.0,
            "distance_decay": 0.1,
            "distance": "next",
            "episode": "batch",
        }
        groups = [[path(rng, "abcde") for _ in range(rng.randint(1, 5))] for _ in range(3)]
        c["batch"] = episode_of_batch(groups, c)
        write(estimator.__name__, c, groups, [estimator(g, c) for g in groups])


def write(name, c, groups, advantages):
    c = {k: v for k, v in c.items() if k != "batch"}
    print(json.dumps({"estimator": name, **c, "groups": groups, "advantages": advantages}))


def main():
    rng = random.Random(20260526)
    one_group = {"graphgpo": graphgpo, "g2po": g2po, "gagpo": gagpo, "opo": opo, "maxrl": maxrl, "grpo_passk": grpo_passk}
    for n in range(84):
        name = [*one_group, "reinforce_pp_baseline"][n % 7]
        c = {
            "gamma": rng.choice([0.5, 0.95, 1.0]),
            "lambda": rng.choice([0.0, 0.8, 1.0]),
            "omega": rng.choice([0.5, 1.0, 2.0]),
            "std": n % 2 == 0,
            "success_score": rng.choice([0.0, 0.5]),
            "distance_decay": rng.choice([0.1, 0.5]),
            "distance": rng.choice(["next", "progress"]),
        }
        states = [chr(97 + i) for i in range(rng.choice([2, 5, 12]))]
        groups = [[path(rng, states) for _ in range(rng.randint(1, 6))] for _ in range(3)]
        c |= {"episode": "group", "batch": None}
        if name == "reinforce_pp_baseline":
            advantages = baseline(groups, c)
        else:
            advantages = [one_group[name](g, c) for g in groups]
        write(name, c, groups, advantages)
    batches(random.Random(20261126))
    rng = random.Random(20260105)
    for n in range(36):
        name = ["gdpo", "rae", "remax"][n % 3]
        c = {"gamma": 0.95, "lambda": 0.95, "omega": 1.0, "std": n % 2 == 0, "success_score": 0.0, "distance_decay": 0.1, "distance": "next", "episode": "group", "batch": None}
        groups = [[path(rng, ["a", "b"]) for _ in range(rng.randint(1, 6))] for _ in range(3)]
        more(rng, groups, c)
        advantages = gdpo(groups, c) if name == "gdpo" else [{"rae": rae, "remax": remax}[name](g, c) for g in groups]
        write(name, c, groups, advantages)
    older = {"grpo": grpo, "rloo": rloo, "gae": gae, "flow_grpo": flow_grpo, "lightning": grpo, "hgpo": hgpo}
    for n in range(84):
        name = [*older, "reinforce_pp"][n % 7]
        c = {"gamma": rng.choice([0.5, 1.0]), "lambda": rng.choice([0.0, 0.8]), "omega": 1.0, "std": n % 2 == 0, "success_score": 0.0, "distance_decay": 0.1, "distance": "next", "episode": "group", "batch": None}
        groups = [[path(rng, ["a", "b"]) for _ in range(rng.randint(1, 6))] for _ in range(3)]
        for p in (p for g in groups for p in g):
            p["values"] = [rng.uniform(-1, 1) for _ in p["states"]]
        advantages = reinforce_pp(groups, c) if name == "reinforce_pp" else [older[name](g, c) for g in groups]
        write(name, c, groups, advantages)
    rng = random.Random(20260903)
    for n in range(12):  # without kept steps, tigpo is graphgpo; internal/keptgraph/testdata has the others
        c = {"gamma": 0.95, "lambda": 0.95, "omega": 1.0, "std": n % 2 == 0, "success_score": 0.0, "distance_decay": 0.1, "distance": rng.choice(["next", "progress"]), "episode": "group", "batch": None}
        groups = [[path(rng, ["a", "b", "c", "d"]) for _ in range(rng.randint(1, 6))] for _ in range(3)]
        write("tigpo", c, groups, [graphgpo(g, c) for g in groups])


if __name__ == "__main__":
    main()
