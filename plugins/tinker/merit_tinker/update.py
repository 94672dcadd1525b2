"""An update in the form of the service, and the statistics from its answers."""

from __future__ import annotations

import dataclasses
import math
import random
from typing import Any, Iterable

import numpy as np
from tinker import types

from merit_plugin import Fault, Sequence, Stats

from .options import Options


@dataclasses.dataclass
class Item:
    """A sequence to learn from, by position of the prediction."""

    inputs: np.ndarray
    targets: np.ndarray
    at: np.ndarray  # positions to learn from
    sampled: np.ndarray  # log-probabilities, of all positions, as the following
    advantage: np.ndarray
    weight: np.ndarray

    @property
    def learnt(self) -> int:
        return int(self.at.sum())


def items(sequences: Iterable[Sequence]) -> list[Item]:
    """The checked items to learn from. SkyRL would accept a NaN, and the next step would
    make all weights NaN."""
    result = []
    for i, s in enumerate(sequences):
        tokens = np.array(s.tokens, np.int64)
        columns = [np.array(c, np.float64) for c in (s.log_prob, s.advantage, s.weight)]
        at = (np.frombuffer(s.sampled, np.uint8) == 1) & (columns[2] > 0)
        if any(len(c) != len(tokens) or not np.isfinite(c).all() for c in columns) or (tokens < 0).any() or len(at) and at[0]:
            raise Fault(f"sequence {i} has columns that do not fit, or numbers that are not finite", boundary="learner", kind="invalid", hint="learn from the trajectories of a rollout")
        if at.any():
            result.append(Item(tokens[:-1], tokens[1:], at[1:], *(np.where(at, c, 0)[1:] for c in columns)))
    return result


def minibatches(all: list[Item], options: Options, seed: int) -> Iterable[list[Item]]:
    """The items of each optimiser step. One step an epoch takes them in order, more
    take them shuffled by the seed."""
    order, shuffle = list(range(len(all))), random.Random(seed)
    steps = min(options.minibatches, len(all))
    for _ in range(options.epochs if all else 0):
        if steps > 1:
            shuffle.shuffle(order)
        for k in range(steps):
            yield [all[i] for i in order[k * len(all) // steps:(k + 1) * len(all) // steps]]


def requests(batch: list[Item], options: Options) -> list[list[types.Datum]]:
    """The step's data, in requests of one size: the service compiles a program for
    each. The last request is filled up with sequences without any weight.

    The loss is the weighted mean of the token losses, either over all tokens or
    over those of each sequence and then over the sequences. A service that takes
    the mean of a sequence, and of the sequences, has this undone in the advantages.
    """
    count = -(-len(batch) // options.batch) * options.batch
    whole = sum(float(i.weight.sum()) for i in batch)
    data = []
    for item in batch:
        share = whole if options.average == "token" else len(batch) * float(item.weight.sum())
        scale = item.learnt * count / share if options.reduction == "mean" else 1 / share
        data.append(_datum(item, item.advantage * item.weight * scale, options))
    blank = np.zeros(1)
    filler = Item(np.ones(1, np.int64), np.ones(1, np.int64), np.zeros(1, bool), blank, blank, blank)
    data += [_datum(filler, blank, options)] * (count - len(data))
    return [data[i:i + options.batch] for i in range(0, count, options.batch)]


def _datum(item: Item, advantage: np.ndarray, options: Options) -> types.Datum:
    inputs = {"target_tokens": item.targets, "logprobs": item.sampled.astype(np.float32), "advantages": advantage.astype(np.float32)}
    if options.reduction == "mean":
        inputs["weights"] = item.at.astype(np.float32)  # what the mean is over
    return types.Datum(model_input=types.ModelInput.from_ints(item.inputs.tolist()), loss_fn_inputs=inputs)


@dataclasses.dataclass
class Loss:
    """The loss of an update. To imitate answers of others, the ratio of cispo is clipped to
    1: what remains is −advantage · log-probability, with every reduction of a service."""

    name: str
    low: float
    high: float
    imitates: bool = False

    @staticmethod
    def of(options: Options, sequences: list[Sequence]) -> Loss:
        if any(s.imitate for s in sequences):
            return Loss("cispo", 1.0, 1.0, True)
        return Loss(options.loss, options.clip_low, options.clip_high)

    def clips(self) -> dict[str, float] | None:
        """The loss's own settings as the service calls them."""
        if self.name == "importance_sampling":
            return None
        return {"clip_low_threshold": self.low, "clip_high_threshold": self.high}


class Measure:
    """Weighted means over the tokens of an update, from the log-probabilities that
    the learner gave before each step."""

    def __init__(self, loss: Loss):
        self._loss = loss
        self._sums: dict[str, float] = {}
        self._weight = self._first = 0.0  # of all steps, of the first
        self._largest = 0.0
        self._norms: list[float] = []

    def add(self, item: Item, output: Any, first: bool) -> None:
        """Adds the log-probabilities of the learner for one item; first = before any step."""
        said = np.asarray(output["logprobs"].data, np.float64) if "logprobs" in output else np.zeros(0)
        if len(said) != len(item.targets):
            raise Fault(f"{len(said)} log-probabilities for {len(item.targets)} tokens", boundary="learner", kind="protocol", hint="use a service that the client tinker 0.25 can speak to")
        learner, sampler, a, w = (x[item.at] for x in (said, item.sampled, item.advantage, item.weight))
        if not np.isfinite(learner).all():
            raise Fault("the learner's log-probabilities are not finite", boundary="learner", kind="numeric", hint="use a lower learning rate")
        self._weight += w.sum()
        if self._loss.imitates:
            self._take(w, loss=-learner * a)
            return
        ratio = np.exp(np.minimum(learner - sampler, 50))
        clipped = np.clip(ratio, self._loss.low, self._loss.high)
        loss, cut = {
            "importance_sampling": lambda: (-ratio * a, np.zeros(len(a))),
            "ppo": lambda: (-np.minimum(ratio * a, clipped * a), ratio * a > clipped * a),
            "cispo": lambda: (-clipped * learner * a, ratio != clipped),
        }[self._loss.name]()
        self._take(w, loss=loss, kl=ratio - 1 - np.log(ratio), clip_fraction=cut, entropy=-sampler)
        if first:
            drift = np.abs(learner - sampler)
            self._take(w, ratio=ratio, drift=drift)
            self._first += w.sum()
            self._largest = max(self._largest, float(drift.max()))

    def step(self, metrics: dict[str, float] | None) -> None:
        """Adds the metrics of an optimizer step."""
        norm = next((v for k, v in (metrics or {}).items() if k.endswith("grad_norm")), 0.0)
        if norm is None or not math.isfinite(norm):
            raise Fault(f"the gradient's norm is {norm}", boundary="learner", kind="numeric", hint="use a lower learning rate")
        self._norms.append(norm)

    def stats(self, all: list[Item], rate: float) -> Stats:
        mean = {k: v / (self._first if k in ("ratio", "drift") else self._weight) for k, v in self._sums.items()}
        return Stats(
            **mean, drift_max=self._largest, grad_norm=sum(self._norms) / max(1, len(self._norms)), learning_rate=rate,
            minibatches=len(self._norms), sequences=len(all), tokens=sum(i.learnt for i in all),
        )

    def _take(self, weight: np.ndarray, **values: np.ndarray) -> None:
        for name, value in values.items():
            self._sums[name] = self._sums.get(name, 0.0) + float(weight @ value)
