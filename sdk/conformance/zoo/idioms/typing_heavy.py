from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from typing import Any, Callable, ClassVar, Literal, NamedTuple, Protocol, TypedDict


class Verdict(enum.IntEnum):
    WRONG = 0
    RIGHT = 1


class Item(TypedDict):
    text: str
    truth: str


class Pair(NamedTuple):
    item: Item
    weight: float = 1.0


class Judge(Protocol):
    def __call__(self, item: Item) -> Verdict: ...


class Base(ABC):
    registry: ClassVar[dict[str, type[Base]]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        Base.registry[cls.__name__] = cls

    @abstractmethod
    def judge(self, item: Item) -> Verdict: ...


class Contains(Base):
    def judge(self, item: Item) -> Verdict:
        match item:
            case {"text": str(text), "truth": str(truth)} if truth in text:
                return Verdict.RIGHT
            case _:
                return Verdict.WRONG


def typed_reward(completions: list[list[dict[str, Any]]], answer: list[str], mode: Literal["a", "b"] = "a", **kwargs: Any) -> list[float]:
    pairs = [Pair({"text": c[-1]["content"], "truth": a}) for c, a in zip(completions, answer)]
    return [float(Base.registry["Contains"]().judge(p.item)) * p.weight for p in pairs]
