"""Messages from and to what authors see. Columns are little-endian."""

from __future__ import annotations

import json
import math
import sys
from array import array
from typing import Any, Iterable

from . import options as opts
from ._proto import environment_pb2, policy_pb2
from .fault import Fault
from .policy import Decision, Policy, Request, Sequence, Setup, Spec, Stats

PROTOCOL = 1


def description(name: str, version: str, summary: str, options: type) -> environment_pb2.Description:
    return environment_pb2.Description(protocol=PROTOCOL, name=name, version=version, summary=summary, options=opts.defaults(options))


def setup(m: policy_pb2.PolicyRequest) -> Setup:
    return Setup(
        seed=m.seed, actions=tuple(m.actions), feature_shape=tuple(m.feature_shape),
        tools=json.loads(m.tools) if m.tools else [], learn=m.learn, updates=m.updates,
    )


def spec(s: Spec, policy: type[Policy]) -> policy_pb2.PolicySpec:
    learns = policy.learn is not Policy.learn if s.learns is None else s.learns
    return policy_pb2.PolicySpec(learns=learns, model=s.model, tokenizer=s.tokenizer, context=s.context, imitates=s.imitates)


def request(m: policy_pb2.ActRequest) -> Request:
    return Request(
        messages=json.loads(m.messages) if m.messages else [], text=m.text, features=column("f", m.features), mask=m.mask,
        seed=m.seed, greedy=m.greedy, tokens=column("i", m.tokens), covered=m.covered, answered=m.answered,
    )


def decision(d: Decision, published: int) -> policy_pb2.Decision:
    if not isinstance(d, Decision):
        raise TypeError(f"act returned {type(d).__name__}, not a Decision")
    kinds = [kind for kind, given in (("choice", d.choice), ("text", d.text), ("tool", d.tool_calls)) if given is not None]
    if len(kinds) > 1:
        raise ValueError(f"a decision has one action, not {' and '.join(kinds)}")
    m = policy_pb2.Decision(
        kind="".join(kinds), choice=d.choice or 0, text=d.text or "", raw=d.raw, log_prob=d.log_prob, entropy=d.entropy,
        prompt=packed("i", d.prompt), tokens=packed("i", d.tokens), log_probs=packed("d", d.log_probs),
        stop=d.stop, version=published if d.version is None else d.version,
    )
    if d.tool_calls is not None:
        m.tool_calls = json.dumps(d.tool_calls).encode()
    if d.value is not None:
        m.value = d.value
    if d.info:
        m.info = json.dumps(d.info, allow_nan=False).encode()
    return m


def sequences(parts: Iterable[policy_pb2.LearnRequest]) -> list[Sequence]:
    """The sequences of a whole update, after a check that they fit together: a
    learner must not train on bytes that another program got wrong."""
    said, imitate, result = None, False, []
    for part in parts:
        if said is None:
            said, imitate = part.sequences, part.imitate
        ends, tokens = column("I", part.end), column("i", part.tokens)
        columns = [column("f", c) for c in (part.log_prob, part.advantage, part.weight)]
        total = ends[-1] if ends else 0
        if {len(tokens), len(part.sampled), *map(len, columns)} != {total} or list(ends) != sorted(ends):
            raise _misfit(f"columns of {len(tokens)} tokens do not fit sequences that end at {total}")
        if not all(math.isfinite(x) for c in columns for x in c):
            raise _misfit("a log-probability, advantage or weight is not finite")
        first = 0
        for end in ends:
            result.append(Sequence(tokens[first:end], part.sampled[first:end], *(c[first:end] for c in columns), imitate))
            first = end
    if said != len(result) and (said or result):
        raise _misfit(f"{len(result)} sequences came, {said} were announced")
    return result


def stats(s: Stats) -> policy_pb2.LearnStats:
    for name, value in vars(s).items():
        if not math.isfinite(value):
            raise Fault(f"the update's {name} is {value}", boundary="learner", kind="numeric", hint="the weights may be spoilt: use a lower learning rate", retry=True)
    return policy_pb2.LearnStats(**vars(s))


def column(kind: str, raw: bytes) -> array:
    """A column of an array's type: i and I 32 bits, f and d floats."""
    values = array(kind)
    if len(raw) % values.itemsize:
        raise _misfit(f"a column of {len(raw)} bytes has no whole number of values")
    values.frombytes(raw)
    if sys.byteorder == "big":
        values.byteswap()
    return values


def packed(kind: str, values: Any) -> bytes:
    """The inverse of column, for anything iterable."""
    result = array(kind, values)
    if sys.byteorder == "big":
        result.byteswap()
    return result.tobytes()


def _misfit(what: str) -> Fault:
    return Fault(what, kind="protocol", hint="use the same version of Merit and of merit_plugin")
