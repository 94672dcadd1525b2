"""What the shapes share: what they read of a member, and how they read a result."""

from __future__ import annotations

from ..absent import UnavailableError
from ..models import EvaluateResult
from ..results import fields, number
from ..shapes import MERGED, OWN, PROMPT, TEXT, said, split, text, unopened

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

    from . import Row

BESIDE = frozenset(("is_score_valid", "reason", "error", "step_outputs"))  # the score of a result
ROW = frozenset(("messages", "ground_truth", "metadata"))  # what a function of any shape may ask for
SCORES = ("score", "overall", "reward", "rewards", "scores")  # what trainers call the score of a result


class Shape:
    """A function as Merit calls it: with messages, ground_truth, metadata and the columns of one member, or of all."""

    wants: "frozenset[str]" = frozenset(("messages", "ground_truth", "metadata", PROMPT, TEXT, OWN))  # what Merit must give
    open = False  # takes every column
    lists = False  # one call can score several members
    groups = False  # it compares the members of a group

    def __init__(self, row: "Row", func: "Callable[..., Any]", names: "frozenset[str]", takes_all: bool) -> None:
        self.row, self.func, self.names, self.takes_all = row, func, names, takes_all
        self.more = names  # which of them offered may lack
        if OWN in self.wants and "metadata" not in names:
            self.wants = self.wants | {MERGED}

    def one(self, **arguments: "Any") -> "Any":
        """The result of one member."""
        return self.many([arguments])[0]

    def many(self, members: "list[dict[str, Any]]") -> "list[Any]":
        """A result for each member."""
        return [taken(self.called(self.asked(m))) for m in members]

    def asked(self, member: "dict[str, Any]") -> "dict[str, Any]":
        """What the shape offers for one member, and what of the row the function asks for by name beside it."""
        offered = self.offered(member)
        if more := [k for k in self.more if k not in offered]:
            columns = named(member)
            for k in more:
                if k in columns:
                    offered[k] = columns[k]
                elif k in ROW and k in member:
                    offered[k] = member[k]
        return offered

    def offered(self, member: "dict[str, Any]") -> "dict[str, Any]":
        """What the function is called with for one member."""
        raise NotImplementedError

    def called(self, offered: "dict[str, Any]") -> "Any":
        """The function's own result, of those arguments that it takes."""
        return self.func(**(offered if self.takes_all else {k: v for k, v in offered.items() if k in self.names}))


def listed(results: "Any", members: "list[Any]", what: str) -> "list[Any]":
    """The results of a call for several members, one for each."""
    if isinstance(results, (str, dict, EvaluateResult)) or not hasattr(results, "__iter__"):
        raise TypeError(f"the reward returned {type(results).__name__} {str(results)[:200]!r}; with {what} it returns a list, one score for each")
    results = list(results)
    if len(results) != len(members):
        raise ValueError(f"the reward returned {len(results)} scores for {len(members)} {what}")
    return results


def taken(result: "Any") -> "Any":
    """A result as Merit reads it: the first of a tuple, and the numbers beside the score of a record as metrics."""
    kind = result.__class__
    if kind is float or kind is not dict and isinstance(result, (int, float, EvaluateResult)):
        return result
    said = result if kind is dict else fields(result)
    if said and "score" in said and ("error" in said or "metrics" in said):
        return said
    name = None
    if said and "error" not in said:
        name = SCORES[0] if SCORES[0] in said else next((n for n in SCORES if n in said), None)
    if name is None:
        return taken(result[0]) if isinstance(result, (tuple, list)) and result else result
    score = said[name]
    if score.__class__ is not float and isinstance(score, (list, tuple)) and len(score) == 1:
        score = score[0]
    out, rest = {"score": score}, {}
    for k, v in said.items():
        if k in BESIDE:
            out[k] = v
        elif k != name and (v.__class__ is float or number(v) is not None):
            rest[str(k)] = v
    if rest:
        out["metrics"] = rest
    return out


def columns(member: "dict[str, Any]") -> "dict[str, Any]":
    """The columns of a member, as the row has them: not to be changed."""
    found = member.get("metadata") or {}
    return {**unopened(found, member[OWN]), **member[OWN]} if OWN in member else found


def named(member: "dict[str, Any]") -> "dict[str, Any]":
    """What is found by its name: the columns, and the entries of an object called metadata."""
    found = member.get("metadata") or {}
    return {**found, **member[OWN]} if OWN in member else found


def truth(member: "dict[str, Any]") -> "Any":
    """The ground truth; that of a row of verl's own data stands in its column reward_model, of SkyRL's in reward_spec."""
    found = member.get("ground_truth")
    if found is None:
        columns = named(member)
        model = columns.get("reward_model") or columns.get("reward_spec")
        return model.get("ground_truth") if isinstance(model, dict) else None
    return found


def answer(member: "dict[str, Any]") -> str:
    """What the policy said, as text."""
    return said(split(member)[1])


def prompt(member: "dict[str, Any]") -> str:
    """What the policy was asked, as text."""
    return text(split(member)[0])


def query(member: "dict[str, Any]") -> str:
    """Prompt and answer as one text: the column of that name if there is one."""
    column = named(member).get("query")
    return column if isinstance(column, str) else prompt(member) + answer(member)


class Absent:
    """Stands for what only a trainer has, such as tokens: it can be passed on, and not be used."""

    def __init__(self, name: str) -> None:
        self.__dict__["name"] = name

    def _refuse(self, *_: "Any") -> "Any":
        raise UnavailableError(f"the reward uses {self.__dict__['name']}, which only a trainer has")

    __len__ = __iter__ = __getitem__ = __getattr__ = __call__ = __contains__ = __bool__ = _refuse
    __lt__ = __gt__ = __le__ = __ge__ = __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _refuse
    __int__ = __float__ = __index__ = _refuse
