"""What the author of a policy writes, and what a policy is asked and answers."""

from __future__ import annotations

import dataclasses
from array import array
from typing import Any, Awaitable


@dataclasses.dataclass(frozen=True)
class Setup:
    """What a policy is built for."""

    seed: int = 0  # of the initial weights, 64 bits
    actions: tuple[str, ...] = ()  # of the environment; empty = free text
    feature_shape: tuple[int, ...] = ()  # of its observation tensor; empty = none
    tools: list[dict] = dataclasses.field(default_factory=list)  # OpenAI tools
    learn: bool = False  # learn will be called
    updates: int = 0  # how often, for schedules; 0 = not known


@dataclasses.dataclass
class Spec:
    """Describes a policy as configured."""

    learns: bool | None = None  # None = if the class has learn
    model: str = ""  # whose weights act; empty if they have no name
    tokenizer: str = ""  # digest of the tokenizer; empty if there is none
    context: int = 0  # tokens of the longest conversation; 0 = not known
    imitates: bool = False  # takes requests that are answered, and sequences to imitate


@dataclasses.dataclass
class Request:
    """One decision that is wanted."""

    messages: list[dict]  # the conversation so far, in OpenAI's form
    text: str  # the last observation alone
    features: array  # f; empty if there are none
    mask: bytes  # 1 = available, per action; empty = all
    seed: int  # the randomness of this decision, 64 bits
    greedy: bool  # take the likeliest instead of sampling
    tokens: array  # i: the conversation as this policy sampled it so far …
    covered: int  # … and how many messages that stands for
    answered: bool = False  # the last message is an answer: return its prompt and tokens


@dataclasses.dataclass
class Decision:
    """What the policy chose. With neither choice, text nor tool_calls, Merit
    parses raw."""

    raw: str = ""  # the output before parsing
    choice: int | None = None  # index of the action
    text: str | None = None  # the action, where actions are free text
    tool_calls: list[dict] | None = None  # in OpenAI's form
    log_prob: float = 0.0  # of the action or the whole output, nats
    entropy: float = 0.0
    value: float | None = None
    prompt: Any = ()  # all tokens that the model was given …
    tokens: Any = ()  # … those sampled behind them …
    log_probs: Any = ()  # … and their log-probabilities, nats
    stop: str = ""  # policy_ended, context; empty = the episode goes on
    version: int | None = None  # of the weights that decided; None = the published
    info: dict[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass
class Sequence:
    """A run of tokens to learn from. All columns have one value for each token;
    the last three are 0 where sampled is."""

    tokens: array  # i
    sampled: bytes  # 1 = sampled by the policy, learnt from
    log_prob: array  # f: when it was sampled, nats
    advantage: array  # f
    weight: array  # f: of the token in the loss
    imitate: bool = False  # others gave the answers: the loss is −advantage · log-probability


@dataclasses.dataclass
class Stats:
    """Describes an update: weighted means over what was learnt from. What is not
    measured is 0."""

    loss: float = 0.0
    kl: float = 0.0  # against the policy that acted, nats
    entropy: float = 0.0
    clip_fraction: float = 0.0
    grad_norm: float = 0.0
    learning_rate: float = 0.0
    minibatches: int = 0  # optimiser steps
    sequences: int = 0
    tokens: int = 0  # with a gradient
    ratio: float = 0.0  # learner ÷ sampler probability before the update
    drift: float = 0.0  # |log-probability of the learner − of the sampler| …
    drift_max: float = 0.0  # … and its largest


class Policy:
    """A policy. Every method may be a coroutine or not; those that are not run in
    separate threads. What they raise is the answer: a Fault unchanged, anything
    else as a defect of the plug-in.

    act is called for any number of requests at once. The others are called one at
    a time and never while requests are open. A policy that does not learn leaves
    learn, publish, save and load out.
    """

    version: int = 0  # updates behind the newest weights: learn and load keep it

    def __init__(self, options: Any, setup: Setup):
        """Options is an object of the dataclass that serve was given."""
        self.options, self.setup = options, setup

    def describe(self) -> Spec | Awaitable[Spec]:
        """Says what the policy is, once, before all else: the place to refuse what
        cannot work."""
        return Spec()

    def act(self, request: Request) -> Decision | Awaitable[Decision]:
        """Decides one request. It depends on the request and the weights only."""
        raise NotImplementedError

    def learn(self, sequences: list[Sequence], seed: int) -> Stats | Awaitable[Stats]:
        """Improves the policy once and adds one to version."""
        raise NotImplementedError

    def publish(self) -> None | Awaitable[None]:
        """Makes the newest version act from here on."""

    def save(self, name: str) -> bytes | Awaitable[bytes]:
        """Returns the state that load takes; name says at which point of a run it
        is: letters, digits and hyphens."""
        raise NotImplementedError

    def load(self, state: bytes) -> None | Awaitable[None]:
        """Takes a state, which acts from here on, and sets version. Empty is the
        state before the first learn."""
        raise NotImplementedError

    def close(self) -> None | Awaitable[None]:
        """Frees what the policy holds. The process ends two seconds later."""
