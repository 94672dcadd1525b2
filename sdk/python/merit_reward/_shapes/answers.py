"""Shapes that get texts: the answer, and mostly the truth, each under the name that its trainer gives it."""

from __future__ import annotations

from . import base
from ..results import number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

    from . import Row

READ = {"answer": base.answer, "truth": base.truth, "prompt": base.prompt, "query": base.query}


class One(base.Shape):
    """One member a call, such as verl's ``compute_score(data_source, solution_str, ground_truth, extra_info)``."""

    def __init__(self, row: "Row", func: "Callable[..., Any]", names: "frozenset[str]", takes_all: bool) -> None:
        super().__init__(row, func, names, takes_all)
        taken = names | row.given if takes_all else names

        def named(kind: str) -> "list[str]":
            return [name for name in row.options.get(kind, "").split() if name in taken]

        weak, every = row.options.get("weak"), row.options.get("every")
        self.reads = [(name, read, kind == "truth" or weak) for kind, read in READ.items() for name in named(kind)]  # a column wins over some
        self.tokens = [name for name in row.options.get("tokens", "").split() if name in taken or takes_all]
        self.all_columns = every and takes_all
        self.columns = names if every or row.columns else ()
        self.source, self.extra = (n if n in taken or takes_all else "" for n in (row.options.get("extra") or " ").split(" "))
        self.more = names - {self.source, self.extra, *self.tokens, *(name for name, _, _ in self.reads)}

    def offered(self, member: "dict[str, Any]") -> "dict[str, Any]":
        columns = base.named(member)
        found = dict(base.columns(member)) if self.all_columns else {k: columns[k] for k in self.columns if k in columns}
        for name, read, yields in self.reads:
            if not (yields and name in found):
                found[name] = read(member)
        for name in self.tokens:
            found[name] = base.Absent(name)
        if self.source:
            found[self.source] = columns.get("data_source", "")
        if self.extra:
            extra = columns.get("extra_info")
            found[self.extra] = extra if isinstance(extra, dict) else base.columns(member) if base.OWN in member else columns
        return found

    def called(self, offered: "dict[str, Any]") -> "Any":
        return self.func(**offered)


class All(One):
    """Lists with a place for each member, such as OpenRLHF's ``reward_func(queries, prompts, labels)``: lists of one where nothing is compared."""

    lists = True

    def many(self, members: "list[dict[str, Any]]") -> "list[Any]":
        rows = [self.asked(m) for m in members]
        results = self.called({name: [r.get(name) for r in rows] for name in sorted(set().union(*rows))})
        if results.__class__ is not list or len(results) != len(members):
            results = base.listed(_column(results, len(members)), members, min(self.names & self.row.given))
        return [base.taken(r) for r in results]


def _column(results: "Any", members: int) -> "Any":
    """The scores of a dict of lists, as OpenRLHF takes one: a result for each member, with its own part of extra_logs."""
    if not isinstance(results, dict) or not {"rewards", "scores"} & results.keys():
        return results
    rewards = results.get("rewards")
    rewards = results["scores"] if rewards is None else rewards
    rewards = [rewards] if number(rewards) is not None else list(rewards)
    logs = {k: v.tolist() if hasattr(v, "tolist") else v for k, v in (results.get("extra_logs") or {}).items()}
    logs = {k: v if isinstance(v, (list, tuple)) else [v] * members for k, v in logs.items()}
    return [{"score": r, **{k: v[i] for k, v in logs.items() if len(v) == members}} for i, r in enumerate(rewards)]
