"""Finds the reward in a module, calls it and takes its result apart.

Both the sandbox and ``python -m merit_reward`` work through here, so a reward
that passes natively behaves the same in the sandbox.
"""

from __future__ import annotations

import sys
import traceback

from .models import EvaluateResult, Message, MetricResult, Record, Rollout, StepOutput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

SCORED, INVALID, ERROR, NO_MEMORY = 0, 1, 2, 3
NAMES = ("reward", "evaluate", "score")
MAX_TRACEBACK = 8192

# A result on its way out: status, score, reason, metrics, steps.
Wire = "tuple[int, float, str, list[tuple[str, float, bool, str]], list[tuple[int, float, str, list[Any]]]]"


class Reward:
    """One reward function and what it wants to be called with."""

    def __init__(self, func: "Callable[..., Any]", module: str = "") -> None:
        self.func, self.module = func, module
        inner = func
        while hasattr(inner, "__wrapped__"):
            inner = inner.__wrapped__
        if not hasattr(inner, "__code__"):
            inner = type(inner).__call__
        code = inner.__code__
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        self.accepts = frozenset(names)
        self.open = bool(code.co_flags & 0x08)  # **kwargs
        self.whole = not self.accepts.isdisjoint(("rollout", "rollouts"))  # wants more than messages
        mode = getattr(func, "_reward_function_mode", None)
        self.group = mode == "batch" or mode is None and not self.accepts.isdisjoint(("rollouts_messages", "rollouts"))

    def evaluate(self, members: "list[Rollout]") -> "list[Wire]":
        """One wire result for each member; never raises an ordinary exception."""
        try:
            if not self.group:
                return [take(self._call(self._arguments(members[0])))]
            results = list(self._call(self._group_arguments(members)))
            if len(results) != len(members):
                raise ValueError(f"the reward returned {len(results)} results for a group of {len(members)}")
            return [take(r) for r in results]
        except MemoryError as e:
            return [(NO_MEMORY, 0.0, explain(e), [], [])] * len(members)
        except BaseException as e:  # SystemExit and KeyboardInterrupt are results too
            return [(ERROR, 0.0, explain(e), [], [])] * len(members)

    def _call(self, arguments: "dict[str, Any]") -> "Any":
        result = self.func(**arguments)
        if hasattr(result, "send") and hasattr(result, "cr_code"):
            return _finish(result)
        return result

    def _arguments(self, r: Rollout) -> "dict[str, Any]":
        offered = {
            "messages": r["messages"],
            "ground_truth": r.get("ground_truth"),
            "rollout": r,
            "metadata": r["metadata"],
        }
        metadata = r["metadata"]
        if self.open:
            arguments = {k: v for k, v in metadata.items() if k not in offered}
            for k in ("messages", "ground_truth", "metadata"):
                arguments[k] = offered[k]
            if "rollout" in self.accepts:
                arguments["rollout"] = r
            return arguments
        return {k: offered[k] if k in offered else metadata[k] for k in self.accepts if k in offered or k in metadata}

    def _group_arguments(self, members: "list[Rollout]") -> "dict[str, Any]":
        truths = [r.get("ground_truth") for r in members]
        offered = {
            "rollouts_messages": [r["messages"] for r in members],
            "rollouts": members,
            "ground_truth": truths[0] if truths else None,
            "ground_truths": truths,
            "ground_truth_for_eval": truths,
            "metadata": [r["metadata"] for r in members],
        }
        if self.open and not ("rollouts" in self.accepts and "rollouts_messages" not in self.accepts):
            wanted = self.accepts | {"rollouts_messages", "ground_truth"}
        else:
            wanted = self.accepts
        return {k: v for k, v in offered.items() if k in wanted}


def _finish(coroutine: "Any") -> "Any":
    """Runs an async reward that never waits for anything."""
    try:
        coroutine.send(None)
    except StopIteration as e:
        return e.value
    coroutine.close()
    raise RuntimeError("an async reward waits for something outside: there is nothing outside of the sandbox")


def find(module: "Any") -> Reward:
    """The reward of a module: the one that is decorated, or else has a usual name."""
    own = [
        f
        for f in vars(module).values()
        if hasattr(f, "_reward_function_mode") and getattr(f, "__module__", None) == module.__name__
    ]
    if len(own) > 1:
        named = [f for f in own if getattr(f, "__name__", "") in NAMES]
        own = named if len(named) == 1 else own
    if not own:
        own = [getattr(module, n) for n in NAMES if callable(getattr(module, n, None))][:1]
    if len(own) == 1:
        return Reward(own[0], module.__name__)
    if own:
        raise LookupError(
            "the module has several rewards: "
            + ", ".join(f.__name__ for f in own)
            + "; name the one that counts 'reward', or keep one a file"
        )
    raise LookupError("the module has no reward: decorate a function with @reward_function, or name it 'reward'")


def rollout(fields: "dict[str, Any]") -> Rollout:
    """Makes plain dicts into records."""
    fields["messages"] = [Message(m) for m in fields["messages"]]
    fields.setdefault("metadata", {})
    if "steps" in fields:
        fields["steps"] = [_step_record(s) for s in fields["steps"]]
    return Rollout(fields)


def _step_record(step: "dict[str, Any]") -> Record:
    step["action"] = Record(step.get("action") or {})
    return Record(step)


def take(result: "Any") -> "Wire":
    """Takes a result apart: an EvaluateResult, a mapping like it, or a number."""
    if isinstance(result, (int, float)):
        return (SCORED, float(result), "", [], [])
    if isinstance(result, dict):
        result = EvaluateResult(**result) if "score" in result or "error" in result else _refuse(result)
    elif not isinstance(result, EvaluateResult):
        result = _refuse(result)
    if result.error:
        return (ERROR, 0.0, str(result.error), [], [])
    return (
        SCORED if result.is_score_valid else INVALID,
        float(result.score) if result.is_score_valid else 0.0,
        _text(result.reason),
        _metrics(result.metrics),
        [_step(s) for s in result.step_outputs or ()],
    )


def _refuse(result: "Any") -> "Any":
    raise TypeError(
        f"the reward returned {type(result).__name__} {str(result)[:200]!r}; return an EvaluateResult, a dict with a score, or a number"
    )


def _text(value: "Any") -> str:
    return "" if value is None else value if value.__class__ is str else str(value)


def _metrics(metrics: "Any") -> "list[tuple[str, float, bool, str]]":
    out = []
    for name, m in (metrics or {}).items():
        if isinstance(m, dict):
            m = MetricResult(**m)
        if isinstance(m, (int, float)):
            out.append((str(name), float(m), True, ""))
        else:
            out.append((str(name), float(m.score), bool(m.is_score_valid), _text(m.reason)))
    return out


def _step(s: "Any") -> "tuple[int, float, str, list[Any]]":
    if isinstance(s, dict):
        s = StepOutput(**s)
    return (int(s.step_index), float(s.base_reward), _text(s.reason), _metrics(s.metrics))


def explain(error: BaseException) -> str:
    """The traceback without the frames of this package, capped."""
    tb = error.__traceback__
    here = __file__.rpartition("/")[0]
    while tb is not None and tb.tb_frame.f_code.co_filename.startswith(here):
        tb = tb.tb_next
    text = "".join(traceback.format_exception(type(error), error, tb)).rstrip()
    if len(text) > MAX_TRACEBACK:
        half = MAX_TRACEBACK // 2
        text = text[:half] + "\n...\n" + text[-half:]
    return text


def load(path: str, name: str) -> "Any":
    """Runs a file as a module."""
    module = type(sys)(name)
    module.__file__ = path
    sys.modules[name] = module
    with open(path, "rb") as f:
        code = compile(f.read(), path, "exec", dont_inherit=True)
    exec(code, module.__dict__)
    return module
