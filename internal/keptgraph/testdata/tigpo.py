"""Writes tigpo.jsonl: what tigpo gives for updates in sequence, computed once more.
Run: python3 tigpo.py > tigpo.jsonl

Written from the description in docs/credit-assignment.md, not from the Go code: sets of edges
instead of arrays, relaxation over the whole union instead of stretches, the statistics module
instead of running sums, the dates of edges in one list instead of one graph for each start.
"""
import json
import random
import statistics

EPSILON, SCALE, WON = 1e-6, 10, "(won)"


def edges_of(group):
    """The group's edges in order of first appearance."""
    found = {}
    for e in group:
        states = list(e["states"])
        behind = [WON] if e["score"] > 0 and not e["truncated"] else []
        for pair in zip(states, states[1:] + behind):
            found[pair] = True
    return list(found)


def distances(edges):
    d = {WON: 0}
    for _ in range(len(edges) + 1):
        for u, v in edges:
            if v in d:
                d[u] = min(d.get(u, 1 << 30), d[v] + 1)
    return d


def standardized(x, among, std):
    if len(among) < 2:
        return 0.0
    return (x - statistics.fmean(among)) / (statistics.stdev(among) + EPSILON if std else 1.0)


def advantages(group, kept, c):
    d = distances(edges_of(group) + kept)
    seen = {s for e in group for s in e["states"]}
    far = max([d[s] for s in seen if s in d], default=0) + 1

    def q(e, t):
        if t + 1 < len(e["states"]):
            after = d.get(e["states"][t + 1], far)
        else:
            after = 0 if e["score"] > 0 and not e["truncated"] else far
        if c["distance"] == "progress":
            after += 1 - d.get(e["states"][t], far)
        return SCALE * c["distance_decay"] ** after

    leaving = {}
    for e in group:
        for t, s in enumerate(e["states"]):
            leaving.setdefault(s, []).append(q(e, t))
    scores = [e["score"] for e in group]
    return [
        [
            standardized(e["score"], scores, c["std"]) + c["omega"] * standardized(q(e, t), leaving[s], True)
            for t, s in enumerate(e["states"])
        ]
        for e in group
    ]


def run(case):
    dated = {}  # (start, edge): the last update that took it
    for number, groups in enumerate(case["updates"], 1):
        case["advantages"].append(
            [advantages(g, [e for (start, e) in dated if start == g[0]["states"][0]], case) for g in groups]
        )
        fresh = list(dict.fromkeys((g[0]["states"][0], e) for g in groups for e in edges_of(g)))
        for name in fresh[: case["kept_edges"]]:
            dated[name] = number
        while len(dated) > case["kept_edges"]:
            oldest = min(dated.values())
            dated = {name: at for name, at in dated.items() if at != oldest}
        case["kept"].append(len(dated))
    return case


def main():
    r = random.Random(28)
    for n in range(24):
        case = {
            "omega": r.choice([1, 0.5]), "std": r.random() < 0.5, "distance": r.choice(["next", "progress"]),
            "distance_decay": r.choice([0.1, 0.5]), "kept_edges": r.choice([5, 30, 1000]), "updates": [], "advantages": [], "kept": [],
        }
        for _ in range(6):
            groups = []
            for _ in range(3):
                start = r.choice("abc")
                groups.append([
                    {
                        "states": start + "".join(r.choice("abcdefgh") for _ in range(r.randrange(6))),
                        "score": r.choice([0, 0, 0, 1]), "truncated": r.random() < 0.2,
                    }
                    for _ in range(r.choice([1, 3, 4]))
                ])
            case["updates"].append(groups)
        print(json.dumps(run(case)))


if __name__ == "__main__":
    main()
