"""Shapes that get texts: the answer, and mostly the truth, each under the name that its trainer gives it."""

from __future__ import annotations

from . import base

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

READ = {"answer": base.answer, "truth": base.truth, "prompt": base.prompt, "query": base.query}


class One(base.Shape):
    """One member a call, such as verl's ``compute_score(data_source, solution_str, ground_truth, extra_info)``."""

    def offered(self, member: "dict[str, Any]") -> "dict[str, Any]":
        options, columns = self.row.options, base.named(member)
        found = base.columns(member) if options.get("every") else {k: columns[k] for k in self.names if k in columns} if self.row.columns else {}
        for kind, read in READ.items():
            for name in options.get(kind, "").split():
                if name in self.names | self.row.given and not (name in found and (kind == "truth" or options.get("weak"))):  # a column wins
                    found[name] = read(member)
        for name in options.get("tokens", "").split():
            found[name] = base.Absent(name)
        if options.get("extra"):
            source, info = options["extra"].split()
            extra = columns.get("extra_info")
            found[source] = columns.get("data_source", "")
            found[info] = extra if isinstance(extra, dict) else base.columns(member)
        return found


class All(One):
    """Lists with a place for each member, such as OpenRLHF's ``reward_func(queries, prompts, labels)``: lists of one where nothing is compared."""

    lists = True

    def many(self, members: "list[dict[str, Any]]") -> "list[Any]":
        rows = [self.asked(m) for m in members]
        names = sorted({name for r in rows for name in r})
        results = self.called({name: [r.get(name) for r in rows] for name in names})
        return [base.taken(r) for r in base.listed(_column(results, len(members)), members, min(self.names & self.row.given))]


def _column(results: "Any", members: int) -> "Any":
    """The scores of a dict of lists, as OpenRLHF takes one: a result for each member, with its own part of extra_logs."""
    if not isinstance(results, dict) or not {"rewards", "scores"} & results.keys():
        return results
    rewards = results.get("rewards")
    rewards = results["scores"] if rewards is None else rewards
    rewards = [rewards] if isinstance(rewards, (int, float)) else list(rewards)
    logs = {k: v if isinstance(v, (list, tuple)) else [v] * members for k, v in (results.get("extra_logs") or {}).items()}
    return [{"score": r, **{k: v[i] for k, v in logs.items() if len(v) == members}} for i, r in enumerate(rewards)]
