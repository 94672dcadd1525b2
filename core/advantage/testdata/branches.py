"""Writes branches.jsonl: what every estimator gives for batches with branches, computed once more.
Run: python3 branches.py > branches.jsonl

Written from docs/credit-assignment.md, not from the code of core/advantage: a step is a pair of an
episode and a number, what follows it is found by searching all episodes, and every value is a
recursion over the steps that follow.
"""
import json
import math
import random
import statistics

EPSILON, SCALE = 1e-6, 10


def compared(x, others, std):
    if len(others) < 2:
        return 0.0
    return (x - statistics.fmean(others)) / (statistics.stdev(others) + EPSILON if std else 1.0)


class Batch:
    def __init__(self, groups, c):
        self.c, self.groups = c, groups
        self.steps = {}  # group -> the steps that take part, as (episode, number)
        for g, group in enumerate(groups):
            self.steps[g] = [(p, t) for p in group if p["scored"] for t in range(p["at"], len(p["states"]))]

    def all(self):
        return [x for g in self.steps.values() for x in g]

    def beside(self, group, p, t):
        """The first own steps of the scored branches in the state of step t of episode p."""
        found = []
        for b in group:
            if b["of"] is None or not b["scored"]:
                continue
            q = group[b["of"]]
            while q["of"] is not None and b["at"] <= q["at"]:
                q = group[q["of"]]
            if q is p and b["at"] == t:
                found.append((b, t))
        return found

    def following(self, group, p, t):
        """All ways to go on after a step."""
        return [(p, t + 1)] + self.beside(group, p, t + 1)

    def up(self, group, p, t, gain, end, factor, share=None):
        """gain + factor * what follows, which behind the last step is end."""
        if t + 1 == len(p["states"]):
            return gain(p, t) + factor * end(p)
        own, *others = [self.up(group, *x, gain, end, factor, share) for x in self.following(group, p, t)]
        if not others:
            follows = own
        elif share:
            w = share(p, t + 1)
            follows = w * own + (1 - w) * statistics.fmean(others)
        else:
            follows = statistics.fmean([own, *others])
        return gain(p, t) + factor * follows

    def score(self, group, p, t, of=lambda p: p["score"]):
        return self.up(group, p, t, lambda p, t: 0.0, of, 1.0)

    def gain(self, group, p, t, share=None):
        return self.up(group, p, t, lambda p, t: p["rewards"][t], lambda p: 0.0, self.c["gamma"], share)

    def members(self, group):
        """The steps that are not copies."""
        return [(p, 0) for p in group if p["scored"] and p["at"] == 0]

    # The estimators: group, number of the group, step -> advantage (and weight).

    def grpo(self, group, g, p, t, std=None):
        among = [self.score(group, *x) for x in self.members(group)]
        return compared(self.score(group, p, t), among, self.c["std"] if std is None else std)

    lightning = grpo

    def flow_grpo(self, group, g, p, t):
        lengths = [len(q["states"]) - q["at"] for h in self.groups for q in h if q["scored"]]
        return self.grpo(group, g, p, t, True), statistics.fmean(lengths) / (len(p["states"]) - p["at"])

    def rloo(self, group, g, p, t):
        n = len(self.members(group))
        return self.grpo(group, g, p, t, False) * (n / (n - 1) if n > 1 else 0)

    def reinforce_pp(self, group, g, p, t):
        flat = [self.gain(self.groups[h], *x) for h in self.steps for x in self.steps[h]]
        return compared(self.gain(group, p, t), flat, True)

    def gae_by(self, group, p, t, value):
        c = self.c

        def delta(p, t):
            after = value(p, t + 1) if t + 1 < len(p["states"]) else 0.0
            return p["rewards"][t] + c["gamma"] * after - value(p, t)

        return self.up(group, p, t, delta, lambda p: 0.0, c["gamma"] * c["lambda"])

    def gae(self, group, g, p, t):
        return self.gae_by(group, p, t, lambda p, t: p["values"][t])

    def from_state(self, g, p, t):
        return [x for x in self.steps[g] if x[0]["states"][x[1]] == p["states"][t]]

    def gagpo(self, group, g, p, t):
        def value(p, t):
            return statistics.fmean(self.gain(group, *x) for x in self.from_state(g, p, t))

        among = [self.gae_by(group, *x, value) for x in self.steps[g]]
        return compared(self.gae_by(group, p, t, value), among, self.c["std"])

    def gigpo(self, group, g, p, t):
        among = [self.gain(group, *x) for x in self.from_state(g, p, t)]
        return self.grpo(group, g, p, t) + self.c["omega"] * compared(self.gain(group, p, t), among, self.c["std"])

    def g2po(self, group, g, p, t):
        def visit(p, t):
            return self.up(group, p, t, lambda p, t: 0.0, lambda p: p["score"], self.c["gamma"])

        def value(p, t):
            return statistics.fmean(visit(*x) for x in self.from_state(g, p, t))

        def after(p, t):
            return value(p, t + 1) if t + 1 < len(p["states"]) else p["score"]

        std = self.c["std"]
        first = compared(after(p, t), [after(*x) for x in self.from_state(g, p, t)], std)
        gains = [after(*x) - value(*x) for x in self.steps[g]]
        return self.grpo(group, g, p, t) + self.c["omega"] * (first + compared(after(p, t) - value(p, t), gains, std))

    def graphgpo(self, group, g, p, t):
        c, won = self.c, "(won)"

        def to(p, t):
            if t + 1 < len(p["states"]):
                return p["states"][t + 1]
            return won if p["score"] > c["success_score"] else "(lost)"

        d = {won: 0}
        for _ in range(200):
            for q, k in self.steps[g]:
                if to(q, k) in d:
                    s = q["states"][k]
                    d[s] = min(d.get(s, 1 << 30), d[to(q, k)] + 1)
        far = max(d.values()) + 1

        def q(p, t):
            n = d.get(to(p, t), far)
            return SCALE * c["distance_decay"] ** (n if c["distance"] == "next" else n - d.get(p["states"][t], far) + 1)

        among = [q(*x) for x in self.from_state(g, p, t)]
        return self.grpo(group, g, p, t) + c["omega"] * compared(q(p, t), among, True)

    tigpo = graphgpo

    def before(self, group, p, t):
        """The step before in the tree: of the episode itself, or of the one that it left."""
        t -= 1
        while p["of"] is not None and t < p["at"]:
            p = group[p["of"]]
        return p, t

    def history(self, group, p, t, n):
        """The last n states, newest first; None if a step among them has no score or there are fewer."""
        out = []
        for k in range(n):
            if t < 0 or not p["scored"]:
                return None
            out.append(p["states"][t])
            if k + 1 < n:
                p, t = self.before(group, p, t)
        return out

    def hgpo(self, group, g, p, t):
        scores = [self.score(group, *x) for x in self.members(group)]
        own, parts = self.grpo(group, g, p, t), []
        if own or len(set(scores)) > 1:
            parts.append((1.0, own))
        for j in (1, 2, 3):
            mine = self.history(group, p, t, j)
            if mine is None:
                break
            like = [self.gain(group, *x) for x in self.steps[g] if self.history(group, *x, j) == mine]
            if max(like) - min(like) > 1e-9:
                parts.append((j + 1.0, compared(self.gain(group, p, t), like, self.c["std"])))
        return sum(w * a for w, a in parts) / sum(w for w, _ in parts) if parts else 0.0

    def opo(self, group, g, p, t):
        steps = [self.score(group, *x) for x in self.steps[g]]
        return self.score(group, p, t) - statistics.fmean(steps) if len(steps) > 1 else 0.0

    def maxrl(self, group, g, p, t):
        among = [self.score(group, *x) for x in self.members(group)]
        mean = statistics.fmean(among) if among else 0.0
        return (self.score(group, p, t) - mean) / mean if mean and len(among) > 1 else 0.0

    def grpo_passk(self, group, g, p, t):
        among = sorted((self.score(group, *x) for x in self.members(group)), reverse=True)
        if len(among) < 2:
            return 0.0
        lead = self.score(group, p, t) - among[1]
        return max(0.0, lead) / (statistics.stdev(among) + EPSILON if self.c["std"] else 1.0)

    def reinforce_pp_baseline(self, group, g, p, t):
        flat = [self.grpo(self.groups[h], h, *x, False) for h in self.steps for x in self.steps[h]]
        return compared(self.grpo(group, g, p, t, False), flat, True)

    def gdpo(self, group, g, p, t):
        def total(group, p, t):
            out = 0.0
            for name, weight in self.c["weights"].items():
                judged = lambda q: q["judged"][name]
                among = [self.score(group, *x, judged) for x in self.members(group)]
                out += weight * compared(self.score(group, p, t, judged), among, True)
            return out

        once = [total(h, *x) for h in self.groups for x in self.members(h)]
        return compared(total(group, p, t), once, True)

    def rae(self, group, g, p, t):
        def earned(role):
            return lambda q: sum(r for r, x in zip(q["rewards"], q["roles"]) if x == role)

        role = p["roles"][t]
        firsts = [(q, q["roles"].index(role)) for q, _ in self.members(group) if role in q["roles"]]
        among = [self.score(group, *x, earned(role)) for x in firsts]
        n = len(among)
        return n / (n - 1) * (self.score(group, p, t, earned(role)) - statistics.fmean(among)) if n > 1 else 0.0

    def remax(self, group, g, p, t):
        return self.score(group, p, t) - p["greedy"]

    def tree(self, group, g, p, t):
        while True:
            if t == 0:
                siblings = self.members(group)
                break
            if t == p["at"]:  # a branch
                q = group[p["of"]]
                while q["of"] is not None and t <= q["at"]:
                    q = group[q["of"]]
            else:
                q = p
            siblings = self.beside(group, q, t)
            if siblings or q is not p:
                siblings = siblings + ([(q, t)] if q["scored"] else [])
                break
            t -= 1
        return compared(self.score(group, p, t), [self.score(group, *x) for x in siblings], self.c["std"])

    def vine(self, group, g, p, t):
        if p["of"] is not None:
            return 0.0, 0.0
        gamma, first, last = self.c["gamma"], t, t + 1
        while first > 0 and not self.beside(group, p, first):
            first -= 1
        while last < len(p["states"]) and not self.beside(group, p, last):
            last += 1

        def value(k):
            if k == len(p["states"]):
                return 0.0
            others = self.beside(group, p, k)
            if k == 0:
                others = [x for x in self.members(group) if x[0] is not p]
            return statistics.fmean(self.gain(group, *x) for x in others) if others else None

        q = sum(gamma ** (k - first) * p["rewards"][k] for k in range(first, last)) + gamma ** (last - first) * value(last)
        return q - value(first) if value(first) is not None else 0.0

    def counterfactual(self, group, g, p, t):
        others = self.beside(group, p, t)
        if p["of"] is not None or not others:
            return 0.0, 0.0
        share = lambda p, t: math.exp(p["log_probs"][t])
        gains = statistics.fmean(self.gain(group, *x, share) for x in others)
        return (1 - share(p, t)) * (self.gain(group, p, t, share) - gains)

    def results(self, name):
        """The advantage and the weight of every step: [group][episode][step]."""
        out = []
        for g, group in enumerate(self.groups):
            out.append([])
            for p in group:
                row = []
                for t in range(len(p["states"])):
                    owner, copied = p, t < p["at"]
                    while owner["of"] is not None and t < owner["at"]:
                        owner = group[owner["of"]]
                    a, w = 0.0, 0.0
                    if owner["scored"]:
                        found = getattr(self, name)(group, g, owner, t)
                        a, w = found if isinstance(found, tuple) else (found, 1.0)
                    row.append((a, 0.0 if copied else w))
                out[-1].append(row)
        return out


def walk(rng, states, after=()):
    n = rng.randint(1, 6)
    p = {k: list(v) for k, v in after} or {"states": [], "rewards": [], "values": [], "roles": [], "log_probs": []}
    for _ in range(n):
        p["states"].append(rng.choice(states))
        p["rewards"].append(rng.choice([0.0, round(rng.uniform(-1, 1), 3)]))
        p["values"].append(round(rng.uniform(-1, 1), 3))
        p["roles"].append(rng.choice(["buyer", "seller"]))
        p["log_probs"].append(round(math.log(rng.uniform(0.05, 0.95)), 3))
    p["score"] = rng.choice([0.0, 1.0, 1.0, round(rng.random(), 3)])
    p["rewards"][-1] = round(p["rewards"][-1] + p["score"], 3)
    p["judged"] = {"right": round(rng.random(), 3), "form": rng.choice([0.0, 1.0])}
    p["scored"] = rng.random() < 0.9
    p["of"], p["at"] = None, 0
    return p


def group(rng, states):
    out = [walk(rng, states) for _ in range(rng.randint(1, 4))]
    members, greedy = len(out), round(rng.random(), 3)
    for _ in range(rng.randint(0, 6)):
        of = rng.randrange(len(out) if rng.random() < 0.4 else members)
        parent = out[of]
        at = rng.randrange(len(parent["states"]))
        b = walk(rng, states, [(k, parent[k][:at]) for k in ("states", "rewards", "values", "roles", "log_probs")])
        b["states"][at], b["values"][at] = parent["states"][at], parent["values"][at]
        b["of"], b["at"] = of, at
        out.append(b)
    for p in out:
        p["greedy"] = greedy
    return out


NAMES = [n for n in vars(Batch) if n in """gigpo grpo rloo reinforce_pp gae flow_grpo lightning hgpo graphgpo tigpo g2po gagpo opo
maxrl grpo_passk reinforce_pp_baseline gdpo rae remax tree vine counterfactual""".split()]


def main():
    rng = random.Random(20261127)
    for n in range(8 * len(NAMES)):
        name = NAMES[n % len(NAMES)]
        c = {
            "gamma": rng.choice([0.5, 0.95, 1.0]), "lambda": rng.choice([0.0, 0.8]), "omega": rng.choice([0.5, 1.0]),
            "std": n // len(NAMES) % 2 == 0, "success_score": 0.0, "distance_decay": 0.1, "distance": rng.choice(["next", "progress"]),
            "episode": "group", "weights": {"right": 1.0, "form": 0.25},
        }
        states = "abcdefgh"[: rng.choice([3, 8])]
        groups = [group(rng, states) for _ in range(2)]
        found = Batch(groups, c).results(name)
        print(json.dumps({
            "estimator": name, **c, "groups": groups,
            "advantages": [[[round(a, 9) for a, _ in p] for p in g] for g in found],
            "weights_of_rows": [[[round(w, 9) for _, w in p] for p in g] for g in found],
        }))


if __name__ == "__main__":
    main()
