"""Shapes that get a record of a member: EasyR1, OpenAI's grader, slime and rLLM."""

from __future__ import annotations

from ..absent import UnavailableError
from ..shapes import parts, split
from . import base

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Tokenless(dict):
    """A dict in which what counts tokens is not there, and says so."""

    def __missing__(self, key: str) -> "Any":
        if key in ("response_length", "prompt_length", "tokens", "completion_ids", "prompt_ids"):
            raise UnavailableError(f"the reward reads {key!r}, which counts tokens: only a trainer has it")
        raise KeyError(key)


class Input(base.Shape):
    """EasyR1's ``compute_score(reward_input) -> {"overall": …}``."""

    def offered(self, member: "dict[str, Any]") -> "dict[str, Any]":
        return {"reward_input": self.record(member)}

    def record(self, member: "dict[str, Any]") -> "dict[str, Any]":
        return Tokenless(base.columns(member), response=base.answer(member), ground_truth=base.truth(member))


class Inputs(Input):
    """EasyR1's ``compute_score(reward_inputs) -> list``."""

    lists = True

    def many(self, members: "list[dict[str, Any]]") -> "list[Any]":
        results = self.func(reward_inputs=[self.record(m) for m in members])
        return [base.taken(r) for r in base.listed(results, members, "reward_inputs")]


class Grader(base.Shape):
    """OpenAI's ``grade(sample, item) -> float``."""

    def offered(self, member: "dict[str, Any]") -> "dict[str, Any]":
        prompt, completion = split(member)
        last = completion[-1] if completion else {}
        said = base.answer(member)
        sample = {
            "output_text": said,
            "output_json": _json(said),
            "output_tools": last.get("tool_calls") or [],
            "choices": [{"index": 0, "message": last, "finish_reason": "stop"}],
        }
        item = {"messages": prompt, **base.columns(member)}
        item.setdefault("ground_truth", member.get("ground_truth"))
        return {"sample": sample, "item": item}


def _json(said: str) -> "Any":
    import json

    try:
        return json.loads(said)
    except ValueError:
        return None


class Slime(base.Shape):
    """slime's ``async custom_rm(args, sample, **kwargs)``."""

    def called(self, offered: "dict[str, Any]") -> "Any":
        return self.func(**offered)

    def offered(self, member: "dict[str, Any]") -> "dict[str, Any]":
        return {"args": Args(), "sample": sample(member)}


class SlimeBatch(Slime):
    """slime's ``async batched_custom_rm(args, samples, **kwargs) -> list``."""

    lists = True

    def many(self, members: "list[dict[str, Any]]") -> "list[Any]":
        results = self.func(args=Args(), samples=[sample(m) for m in members])
        return [base.taken(r) for r in base.listed(results, members, "samples")]


class Args:
    """Stands for the command line of slime, which has no arguments here."""

    def __getattr__(self, name: str) -> "Any":
        raise AttributeError(f"args has no {name}: slime's command line is not here")


def sample(member: "dict[str, Any]") -> "Any":
    """A Sample of slime: finished, with texts and no tokens."""
    from ..peers import Sample

    columns = base.columns(member)
    own = columns.get("metadata")
    return Sample(
        prompt=parts(member)[0],
        response=base.answer(member),
        label=base.truth(member),
        metadata=own if isinstance(own, dict) else columns,
    )


class RLLM(base.Shape):
    """rLLM's ``reward_fn(task_info, action) -> RewardOutput``."""

    def offered(self, member: "dict[str, Any]") -> "dict[str, Any]":
        info = dict(base.columns(member))
        info.setdefault("ground_truth", base.truth(member))
        said = base.answer(member)
        return {"task_info": info, **{name: said for name in self.row.given - {"task_info"}}}
