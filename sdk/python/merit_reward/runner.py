"""Finds the reward in a module, calls it and takes its result apart.

Both the sandbox and ``python -m merit_reward`` work through here, so a reward
that passes natively behaves the same in the sandbox.
"""

from __future__ import annotations

import sys
import traceback

from . import absent, choosing, functions, refusals, shapes
from .absent import FOREIGN, NotHereError, UnavailableError
from .models import Message, Record, Rollout
from .results import plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

OURS = ("invalid", "batch", "without")  # of __merit__: read here
ALONE: "list[str]" = []  # in the sandbox: the file of a reward that has no others
MAX_BATCH = 1024
MAX_TRACEBACK = 8192
MAX_FRAMES = 40
BUILT = traceback.format_list.__code__.co_filename.removesuffix("traceback.py")  # where the standard library was when it was compiled


class Reward:
    """One reward function and what it wants to be called with.

    ``accepts``, ``open`` (it takes any name) and ``func`` are what the sandbox
    calls it by: those of the function, or of the shape that stands before it.
    """

    def __init__(
        self, func: "Callable[..., Any]", name: str = "", given: "dict[str, Any] | None" = None, counts: bool = False, batch: "Any" = None
    ) -> None:
        self.given = given or {}
        f = functions.Function(func)
        self.name, self.shape_name = name or functions.title(func), f.known.name if f.known else "columns by name"
        self.accepts, self.open = f.names, f.open
        if given:
            self.accepts = f.bind(given)
            from functools import partial

            func = partial(func, **given)
        self.asks, self.reads_truth = f.asks(self.given), f.reads_truth
        if f.is_async:
            func = synchronous(func)
        if f.truth_is_messages:
            func = _with_messages(func)
        if shapes.shipped(f.inner):
            func = shapes.unswallowed(func)
        self.shape = None
        if f.shape:
            if why := shapes.missing(f.shape.name, f.required - self.given.keys()):
                raise LookupError(why)
            self.shape = f.shape.shape(func, self.accepts, self.open)
            func, self.accepts, self.open = self.shape.one, self.shape.wants, self.shape.open
        self.counts = counts
        self.func = _counted(func) if counts else func
        self.whole = not self.accepts.isdisjoint(("rollout", "rollouts"))  # wants more than messages
        mode = f.mode
        self.group = mode == "batch" or mode is None and not self.accepts.isdisjoint(("rollouts_messages", "rollouts")) or bool(self.shape and self.shape.groups)
        self.batch = self._batch(batch)

    def entry(self) -> "dict[str, Any]":
        """What whoever runs the reward is told of its function."""
        return {"function": self.name, "shape": self.shape_name, "batch": self.batch, "lists": bool(self.shape and self.shape.lists), "asks": self.asks, "truth": self.reads_truth}

    def _batch(self, batch: "Any") -> int:
        """How many members come in one call: 0 for one, or for the members of a group."""
        if batch is None:
            return 0
        if not self.group and not (self.shape and self.shape.lists):
            raise LookupError(f"batch is {batch!r}, but {self.name} ({self.shape_name}) is called with one member: only what takes lists gets several")
        self.group = True
        if batch == "group":
            return 0
        if not isinstance(batch, int) or isinstance(batch, bool) or not 1 <= batch <= MAX_BATCH:
            raise ValueError(f"batch is {batch!r}; it is 'group' or how many members one call gets, at most {MAX_BATCH}")
        return batch

    def results(self, members: "list[Rollout]") -> "list[Any]":
        """One plain result for each member."""
        if not self.group:
            return [plain(self.func(**self._arguments(members[0])))]
        if self.shape:
            raw = self.shape.many([self._member(r) for r in members])
        else:
            raw = self.func(**self._group_arguments(members))
        results = [_count(plain(r)) if self.counts else plain(r) for r in raw]
        if len(results) != len(members):
            raise ValueError(f"the reward returned {len(results)} results for a group of {len(members)}")
        return results

    def _member(self, r: Rollout) -> "dict[str, Any]":
        """What a shape is called with: as the host would, which leaves out what the function does not take."""
        wants, own = self.accepts, r.get("own_columns") or {}
        columns = {k: v for k, v in r["metadata"].items() if (self.open or k in wants) and k not in self.given and k not in shapes.NOT_COLUMNS}
        if own:
            opened = shapes.unopened(columns, own)
            columns = {k: own.get(k, v) for k, v in columns.items() if k in own or k in wants or k in opened}
        member = {**columns, "messages": r["messages"], "ground_truth": r.get("ground_truth"), "metadata": r["metadata"], "rollout": r}
        if shapes.PROMPT not in wants:
            return member
        if (prompt := boundary(r)) is not None:
            member[shapes.PROMPT] = prompt
        if form := r.get("given_as_text"):
            member[shapes.TEXT] = ("prompt" in form) + 2 * ("completion" in form)
        if own := {k: v for k, v in own.items() if k not in self.given}:
            if shapes.FLAT in wants:
                member.update({k: v for k, v in own.items() if k not in shapes.NOT_COLUMNS})
                own = {k: v for k, v in own.items() if k in shapes.NOT_COLUMNS}
            if own:
                member[shapes.OWN] = own
        return member

    def _arguments(self, r: Rollout) -> "dict[str, Any]":
        if self.shape:
            return self._member(r)
        offered = {
            "messages": r["messages"],
            "ground_truth": r.get("ground_truth"),
            "rollout": r,
            "metadata": r["metadata"],
        }
        metadata = r["metadata"]
        if "prompt_messages" in self.accepts and (said := boundary(r)) is not None:
            metadata = {**metadata, "prompt_messages": said}
        if self.open:
            if own := r.get("own_columns"):
                metadata = {**metadata, **{k: v for k, v in own.items() if k in self.accepts or k not in ("id", "group", "task")}}
            arguments = {k: v for k, v in metadata.items() if k not in offered and k not in self.given}
            for k in ("messages", "ground_truth", "metadata"):
                arguments[k] = offered[k]
            if "rollout" in self.accepts:
                arguments["rollout"] = r
            return arguments
        found = {k: offered[k] for k in self.accepts if k in offered}
        if len(found) < len(self.accepts):
            own = r.get("own_columns") or {}
            found.update({k: own[k] if k in own else metadata[k] for k in self.accepts if k not in found and (k in own or k in metadata)})
        return found

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


def _with_messages(func: "Callable[..., Any]") -> "Callable[..., Any]":
    """The function for one whose ground truth is a list of messages, as reward-kit calls it; a text is one of the assistant."""

    def call(**arguments: "Any") -> "Any":
        truth = arguments.get("ground_truth")
        if isinstance(truth, str):
            truth = [{"role": "assistant", "content": truth}]
        if isinstance(truth, list):
            arguments["ground_truth"] = [Message.model_validate(m) if isinstance(m, dict) else m for m in truth]
        return func(**arguments)

    return call


def _counted(func: "Callable[..., Any]") -> "Callable[..., Any]":
    """The function for an author who says that a score counts that is called invalid."""
    return lambda **arguments: _count(plain(func(**arguments)))


def _count(result: "Any") -> "Any":
    if isinstance(result, dict) and not result.get("is_score_valid", True) and result.get("score") is not None:
        return {**result, "is_score_valid": True}
    return result


def synchronous(func: "Callable[..., Any]") -> "Callable[..., Any]":
    """An async reward as a function: as with asyncio.run, no task outlives its call."""
    if not functions.Function(func).is_async:
        return func
    import asyncio

    loop = asyncio.new_event_loop()

    def call(**arguments: "Any") -> "Any":
        try:
            result = func(**arguments)
            return loop.run_until_complete(result) if hasattr(result, "__await__") else result
        finally:
            if left := asyncio.all_tasks(loop):
                for task in left:
                    task.cancel()
                loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))

    call.__wrapped__ = func  # type: ignore[attr-defined]  # its annotations and marks still count
    return call


def prepare(module: "Any") -> "dict[str, str]":
    """Runs the reward's own warm-up; returns what the module says about itself, the kind of warm-up included."""
    about = getattr(module, "__merit__", {})
    if not isinstance(about, dict):
        raise TypeError(f"__merit__ is {about!r}, not a dict such as {{'name': 'exact'}}")
    said = {str(k): str(v) for k, v in about.items() if k not in OURS}
    if "without" in about:
        said["without"] = refusals.choose(about["without"])
    own = {n: f for n, f in vars(module).items() if getattr(f, "__module__", None) == module.__name__ and hasattr(f, "_merit_warm_up")}
    if len(own) > 1:
        raise LookupError(f"the module has several warm-ups: {', '.join(own)}; keep one")
    if own and said.setdefault("warm_up", "own") != "own":
        raise LookupError(f"__merit__ says warm_up: {said['warm_up']!r}, but a function is marked with @warm_up; keep one of the two")
    if not own and said.get("warm_up") == "own":
        raise LookupError("__merit__ says warm_up: 'own', but no function is marked with @warm_up")
    for func in own.values():
        (synchronous(func) if _is_async(func) else func)()
    return said


def _is_async(func: "Any") -> bool:
    return bool(getattr(getattr(func, "__code__", None), "co_flags", 0) & 0x80)


def find(module: "Any", function: str = "", given: "dict[str, Any] | None" = None, batch: "Any" = None) -> Reward:
    """The reward of a module: the function that was chosen, else the module's own choice.

    ``given`` are parameters from whoever runs the reward, and so is ``batch``,
    which the module's ``__merit__`` says otherwise.
    """
    name, func = choosing.pick(module, function)
    return Reward(func, name, given, _invalid(module) == "score", _said(module, "batch") if batch is None else batch)


def batch_of(said: str) -> "Any":
    """The batch that a command line names: None if it names none."""
    return int(said) if said.isdecimal() else said or None


def _said(module: "Any", key: str) -> "Any":
    about = getattr(module, "__merit__", None)
    return about.get(key) if isinstance(about, dict) else None


def _invalid(module: "Any") -> str:
    """What a score with ``is_score_valid=False`` means: the author's choice."""
    choice = _said(module, "invalid") or "unscored"
    if choice not in ("unscored", "score"):
        raise ValueError(f"__merit__ says invalid: {choice!r}; it is 'unscored' or 'score'")
    return str(choice)


def boundary(r: "dict[str, Any]") -> "int | None":
    """How many messages of a rollout are the prompt's, if it says so."""
    if (said := r.get("prompt_messages")) is not None:
        return int(said)
    steps = r.get("steps")
    return int(steps[0]["message_count"]) if steps else None


def rollout(fields: "dict[str, Any]") -> Rollout:
    """Makes plain dicts into records."""
    fields["messages"] = [Message.model_validate(m) for m in fields["messages"]]
    fields.setdefault("metadata", {})
    if "steps" in fields:
        fields["steps"] = [_step_record(s) for s in fields["steps"]]
    return Rollout(fields)


def _step_record(step: "dict[str, Any]") -> Record:
    step["action"] = Record(step.get("action") or {})
    return Record(step)


def explain(error: BaseException) -> str:
    """The traceback without the frames of this package, capped.

    Where the reward wanted what the sandbox does not have, it is said once, and
    the only frames are the reward's own.
    """
    _reason(error)
    tb = error.__traceback__
    here = __file__.rpartition("/")[0]
    while tb is not None and tb.tb_frame.f_code.co_filename.startswith(here):
        tb = tb.tb_next
    _shorten(tb)
    missing = error if isinstance(error, (UnavailableError, NotHereError)) else None
    cause = error
    for _ in range(MAX_FRAMES):
        cause = cause.__cause__ or cause.__context__
        if cause is None:
            break
        _shorten(cause.__traceback__)
        if isinstance(cause, (UnavailableError, NotHereError)) and str(cause) in str(error):
            missing = cause
    if missing is None:
        lines = traceback.format_exception(type(error), error, tb)
    else:
        own = [f for f in traceback.extract_tb(tb) if not f.filename.startswith((here, BUILT))]
        head = ["Traceback (most recent call last):\n"] if own else []
        lines = [*head, *traceback.format_list(own), *traceback.format_exception_only(missing)]
    text = "".join(lines).rstrip().replace(BUILT, "python/")
    if len(text) > MAX_TRACEBACK:
        half = MAX_TRACEBACK // 2
        text = text[:half] + "\n...\n" + text[-half:]
    return text


def _reason(error: BaseException) -> None:
    """Adds to the error of an import why the package cannot be there, and to that of a file why it is not."""
    if ALONE and isinstance(error, FileNotFoundError) and not str(error.filename).startswith("/proc"):
        error.strerror = f"{error.strerror} (only {ALONE[0]} was given: to bring the files beside it, name its folder)"
    if isinstance(error, ModuleNotFoundError) and error.msg == f"No module named {error.name!r}":
        if why := FOREIGN.get(str(error.name).partition(".")[0]):
            error.msg += f": it {why}"
        elif absent._native(str(error.name).rpartition(".")[2], _folders(str(error.name))):
            error.msg += ": it is native code for another platform, and the sandbox runs packages in pure Python"


def _folders(name: str) -> "Any":
    """Where a module is looked for."""
    package = name.rpartition(".")[0]
    return getattr(sys.modules.get(package), "__path__", ()) if package else sys.path


def _shorten(tb: "Any") -> None:
    """Cuts the middle out of a long traceback: to format a frame is dear."""
    frames = []
    while tb is not None:
        frames.append(tb)
        tb = tb.tb_next
    if len(frames) > MAX_FRAMES:
        frames[MAX_FRAMES // 2 - 1].tb_next = frames[-MAX_FRAMES // 2]


def load(path: str, name: str) -> "Any":
    """Runs a file as a module."""
    module = type(sys)(name)
    module.__file__ = path
    sys.modules[name] = module
    with open(path, "rb") as f:
        code = compile(f.read(), path, "exec", dont_inherit=True)
    exec(code, module.__dict__)
    return module
