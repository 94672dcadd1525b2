"""What rewards import of trainers that are not here: the few names that a reward needs of them.

They stand in only where the real packages are not installed.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class ORM:
    """ms-swift's base class of rewards."""

    def __init__(self, args: "Any" = None, **_options: "Any") -> None:
        self.args = args

    def __call__(self, **_arguments: "Any") -> "list[float]":
        raise NotImplementedError


class AsyncORM(ORM):
    """The same for rewards that are awaited."""


orms: "dict[str, type]" = {}  # ms-swift's registry


class _Status:
    """How a sample of slime ended."""

    def __init__(self, name: str) -> None:
        self.name, self.value = name, name.lower()

    def __repr__(self) -> str:
        return f"<Status.{self.name}: {self.value!r}>"


class Sample:
    """slime's record of one rollout: finished, with texts and no tokens."""

    class Status:
        PENDING, COMPLETED, TRUNCATED, ABORTED, FAILED = map(_Status, ("PENDING", "COMPLETED", "TRUNCATED", "ABORTED", "FAILED"))

    def __init__(self, **fields: "Any") -> None:
        self.__dict__.update(
            {"group_index": None, "index": None, "prompt": "", "response": "", "label": None, "reward": None, "metadata": {}, "train_metadata": None}
        )
        self.__dict__.update({"status": Sample.Status.COMPLETED, "remove_sample": False, "loss_mask": None, "multimodal_inputs": None, **fields})

    def __getattr__(self, name: str) -> "Any":
        from .absent import UnavailableError

        if name in ("tokens", "response_length", "rollout_log_probs", "effective_response_length", "weight_versions"):
            raise UnavailableError(f"the reward reads sample.{name}, which counts tokens: only a trainer has it")
        raise AttributeError(f"Sample has no field {name!r}")


class RewardOutput:
    """rLLM's result."""

    def __init__(self, reward: float, metadata: "Any" = None, is_correct: "bool | None" = None) -> None:
        self.reward, self.metadata, self.is_correct = reward, metadata or {}, is_correct


class Parser:
    """verifiers' parser: an answer is the last message of the assistant, as extract_fn reads it."""

    def __init__(self, extract_fn: "Any" = None) -> None:
        self.extract_fn = extract_fn or (lambda text: text)

    def parse(self, text: str) -> "Any":
        return self.extract_fn(text)

    def get_assistant_messages(self, completion: "list[dict]") -> "list[dict]":
        return [m for m in completion if m["role"] == "assistant"]

    def parse_answer(self, completion: "Any") -> "Any":
        if isinstance(completion, str):
            return self.parse(completion)
        said = self.get_assistant_messages(completion)
        return self.parse(str(said[-1].get("content") or "")) if said else None

    def get_format_reward_func(self) -> "Any":
        return lambda completion, **_: 1.0


class ThinkParser(Parser):
    """The parser for what thinks in <think>: all before </think> is no answer, and without it there is none."""

    def parse(self, text: str) -> "Any":
        return self.extract_fn(text.split("</think>")[-1].strip() if "</think>" in text else "")


class MaybeThinkParser(Parser):
    """The same for what need not think."""

    def parse(self, text: str) -> "Any":
        return self.extract_fn(text.split("</think>")[-1].strip())


class Rubric:
    """verifiers' rubric: functions and their weights."""

    def __init__(self, funcs: "list[Any] | None" = None, weights: "list[float] | None" = None, parser: "Any" = None) -> None:
        self.funcs, self.parser = list(funcs or []), parser or Parser()
        self.weights = list(weights or [1.0] * len(self.funcs))
        if len(self.weights) != len(self.funcs):
            raise ValueError(f"{len(self.weights)} weights for {len(self.funcs)} functions")

    def add_reward_func(self, func: "Any", weight: float = 1.0) -> None:
        self.funcs.append(func)
        self.weights.append(weight)

    def add_metric(self, func: "Any", weight: float = 0.0) -> None:
        self.add_reward_func(func, weight)

    def __call__(self, prompt: "Any", completion: "Any", answer: "Any", state: "Any", task: "Any", info: "Any") -> "dict[str, Any]":
        """The weighted sum of the functions, each called with what it takes; each is a metric."""
        from .functions import Function, title
        from .runner import synchronous

        given = {"prompt": prompt, "completion": completion, "answer": answer, "state": state, "task": task, "info": info, "parser": self.parser}
        total, metrics = 0.0, {}
        for func, weight in zip(self.funcs, self.weights):
            f = Function(func)
            if not f.names.isdisjoint(("states", "completions", "prompts", "answers", "tasks", "infos")):
                raise TypeError(f"{title(func)} compares a group: name it alone, as in reward.py:{title(func)}")
            said = float(synchronous(func)(**(given if f.open else {k: v for k, v in given.items() if k in f.names})))
            metrics[title(func)] = said
            total += weight * said
        return {"score": total, "metrics": metrics}


def extract_boxed_answer(text: str) -> str:
    """What stands in the last box of LaTeX, or all of the text."""
    start = text.rfind("\\boxed{")
    depth = 0
    for i, c in enumerate(text[start + 6 :] if start >= 0 else ""):
        depth += (c == "{") - (c == "}")
        if depth == 0:
            return text[start + 7 : start + 6 + i]
    return text


def get_logger(name: str = "swift", *_arguments: "Any", **_options: "Any") -> "Any":
    """ms-swift's logger."""
    import logging

    return logging.getLogger(name)


# module: the names of this one that it has
PEERS = {
    **dict.fromkeys(("swift", "slime", "slime.utils", "rllm", "rllm.rewards"), ()),
    **dict.fromkeys(("swift.plugin", "swift.plugin.orm", "swift.rewards", "swift.rewards.orm"), ("ORM", "AsyncORM", "orms")),
    "swift.utils": ("get_logger",),
    "slime.utils.types": ("Sample",),
    **dict.fromkeys(("rllm.rewards.reward_types", "rllm.rewards.reward_fn"), ("RewardOutput",)),
    **dict.fromkeys(
        ("verifiers", "verifiers.parsers", "verifiers.rubrics"),
        ("Parser", "ThinkParser", "MaybeThinkParser", "Rubric", "extract_boxed_answer"),
    ),
}


class Finder:
    """Finds the modules of PEERS after all others."""

    @staticmethod
    def find_spec(name, _path=None, _target=None):  # type: ignore[no-untyped-def]
        return type(sys.__spec__)(name, Finder, is_package=True) if name in PEERS else None  # type: ignore[arg-type]

    @staticmethod
    def create_module(_spec):  # type: ignore[no-untyped-def]
        return None

    @staticmethod
    def exec_module(module) -> None:  # type: ignore[no-untyped-def]
        module.__dict__.update({key: globals()[key] for key in PEERS[module.__name__]})
