"""An environment in the sandbox of Merit: there, this file stands in for _process.

The host starts the interpreter once: boot runs the author's file, which calls serve,
tells the host where the functions and objects of this module are in memory, and
leaves as merit_reward._sandbox says. From then on the host calls these functions
directly and reads the Turn in memory. Each slot is a copy of the interpreter.
"""

from __future__ import annotations

import gc
import json
import posix
import sys
import traceback
from typing import Any, Callable

from merit_reward import absent, refusals, runner
from merit_reward import _sandbox as interpreter

from . import _columns as columns
from . import options as opts
from ._plain import offered, only
from ._slots import _Rows, features, why
from .environment import SPLITS, Environment, Vector
from .fault import Fault, Faults, told
from .turn import Features, Turn

KINDS = ("error", "tool_result", "info", "metric", "task")  # of events, by the number that the host knows
EVENT, TURN_SIZE, HEAD = 20, 56, 8  # bytes

TURN = Turn()
FAULT = [b""]  # why the call failed
CALLS: list[Callable] = []  # reset, step and, if it draws, render
WANTS = [(bool(n & columns.WANT_TEXT), bool(n & columns.WANT_FEATURES)) for n in range(4)]
SETTLES = [(True,), (False,)]  # the arguments of settle, by the number of the call
ARGUMENTS: list[tuple] = []  # of step: for each of WANTS, one for each action
SCRATCH = bytearray()  # the number of features and that of actions; the host writes its block.Turn behind them


class Offer:
    """What the author's file serves."""

    made: Offer | None = None

    def __init__(self, plugin: type, about: dict[str, Any], options: type):
        self.plugin, self.about, self.options = plugin, about, options
        self.slot: Any = None


def serve(plugin: type, *, name: str, version: str, summary: str, options: type | None = None) -> None:
    """Offers an environment to the host. Here it returns at once."""
    plugin, options = offered(plugin, options)
    about = {"name": name, "version": version, "summary": summary, "options": json.loads(opts.defaults(options))}
    Offer.made = Offer(plugin, about, options)


def boot(path: str, name: str) -> None:
    """Runs the author's file and tells the host what it can call, or why the file does
    not run. A file that calls no serve has one class with reset and step."""
    try:
        refusals.begin(runner.BUILT)
        absent.watch()
        absent.quicken_imports()
        folder = path.rpartition("/")[0]
        posix.chdir(folder)
        sys.path.insert(0, folder)
        module = runner.load(path, "__main__")
        if Offer.made is None:
            plugin = only(module)
            serve(plugin, name=name, version="0", summary=(plugin.__doc__ or plugin.__name__).strip().partition("\n")[0])
        refusals.settle()  # what was refused so far is how code chooses between packages
        runner.explain(interpreter._raised())  # loads what tracebacks need
        addresses = [id(()), id(interpreter.BUFFER), id(interpreter.ANSWER), id(refusals.PENDING), id(refused), id(ask)]
        hello: Any = ("", addresses, *interpreter._NOTHING[1:])
        hello = (*hello[:7], _addresses(), *hello[8:])
    except Fault as e:
        hello = ("; ".join(filter(None, (e.what, e.hint))), *interpreter._NOTHING)
    except BaseException as e:
        hello = (_words(runner.explain(_authors(e))), *interpreter._NOTHING)
    interpreter._leave(hello)


def _authors(error: BaseException) -> BaseException:
    """An error without the frames of Merit above those of the author."""
    tb = error.__traceback__
    while tb is not None and tb.tb_frame.f_code.co_filename.startswith(("/merit/", "<frozen ")):
        tb = tb.tb_next
    return error.with_traceback(tb)


def _addresses() -> dict[str, int]:
    """Where the host finds what it reads and writes."""
    there: dict[str, Any] = {
        "turn": TURN, "fault": FAULT, "calls": CALLS, "wants": WANTS, "arguments": ARGUMENTS, "scratch": SCRATCH, "settle": settle, "settles": SETTLES,
        "none": None, "true": True, "false": False,
        "float": float, "int": int, "str": str, "bytes": bytes, "list": list, "tuple": tuple, "features": Features,
    }
    return {name: id(thing) for name, thing in there.items()}


def ask() -> None:
    """Answers describe, configure or render: a byte for its kind, and a text."""
    failed, text = 0, ""
    try:
        call, said = interpreter._request()
        text = {"describe": _describe, "configure": _configure, "render": _render}[call](said)
    except BaseException as e:
        failed, text = 1, json.dumps([_problem(f) for f in (e.all if isinstance(e, Faults) else [told(e, False)])])
    interpreter.ANSWER[0] = b"%c%b" % (failed, text.encode("utf-8", "replace"))


def _problem(fault: Fault) -> dict[str, str]:
    return {"boundary": fault.boundary, "kind": fault.kind, "where": fault.where, "what": _words(fault.what), "hint": fault.hint}


def _offer() -> Offer:
    assert Offer.made is not None
    return Offer.made


def _describe(_said: str) -> str:
    return json.dumps(_offer().about)


def _configure(said: str) -> str:
    offer, setup = _offer(), json.loads(said)
    if not issubclass(offer.plugin, Environment):
        raise Fault(f"a {'Vector' if issubclass(offer.plugin, Vector) else 'Policy'} does not run in the sandbox", kind="refused", hint="run it as a program: name it under plugin")
    if setup["split"] not in SPLITS:
        raise Fault(f"split {json.dumps(setup['split'])} is not one of {', '.join(SPLITS)}", kind="refused")
    options = opts.decode(offer.options, json.dumps(setup["options"]).encode())
    offer.slot = d = offer.plugin(options, setup["split"])
    actions, width = list(d.actions), features(d)
    CALLS[:], ARGUMENTS[:] = _calls(d, bool(actions), set()), [(i, *want) for want in WANTS for i in range(len(actions))] if actions else WANTS
    SCRATCH[:] = width.to_bytes(4, "little") + len(actions).to_bytes(4, "little") + bytes(TURN_SIZE + EVENT * columns.MAX_EVENTS + 4 * width + len(actions))
    spec = {"actions": actions, "feature_shape": list(d.feature_shape), "max_steps": d.max_steps, "system": d.system, "tasks": d.tasks}
    if d.tools:
        spec["tools"] = list(d.tools)
    refusals.settle()
    gc.collect()
    gc.freeze()
    return json.dumps(spec)


def _render(_said: str) -> str:
    return str(_offer().slot.render())


def _calls(environment: Any, chosen: bool, mourned: set) -> list[Callable]:
    """The functions of a slot, which never raise."""
    turn, renew, buffer, request = TURN, TURN.__init__, interpreter.BUFFER, interpreter._request  # type: ignore[misc]
    on_reset, on_step, whole = environment.reset, environment.step, int.from_bytes

    def reset(wants_text: bool, wants_features: bool) -> None:
        try:
            renew(wants_text, wants_features)
            on_reset(whole(buffer[:8], "little"), turn)
        except BaseException as e:
            _fail(e, mourned)

    def act(action: int, wants_text: bool, wants_features: bool) -> None:
        try:
            renew(wants_text, wants_features)
            on_step(action, turn)
        except BaseException as e:
            _fail(e, mourned)

    def say(wants_text: bool, wants_features: bool) -> None:
        try:
            renew(wants_text, wants_features)
            on_step(request(), turn)
        except BaseException as e:
            _fail(e, mourned)

    draws = type(environment).render is not Environment.render
    return [reset, act if chosen else say, *([_render] if draws else [])]


def _fail(error: BaseException, mourned: set) -> None:
    FAULT[0] = columns._cut(_words(why(error, mourned)), columns.MAX_TEXT).encode() or b"it failed"


def settle(reset: bool) -> None:
    """Brings the turn to the form that the host reads: bytes, True or False, a float.
    What is wrong with it fails the slot as in a program."""
    try:
        slot = _offer().slot
        rows = _Rows(TURN.wants_text, TURN.wants_features, features(slot), b"\1" * len(slot.actions))
        rows.add(0, columns.RESET if reset else columns.STEP, TURN)
        TURN.anchor, TURN.text, TURN.mask, TURN.reward = rows._anchors[0], rows._texts[0], rows._masks[0] or None, rows._rewards[0]
        if rows._features[0]:
            TURN.features = bytes.__new__(Features, rows._features[0])
        TURN.terminated, TURN.truncated, TURN.invalid_action = bool(TURN.terminated), bool(TURN.truncated), bool(TURN.invalid_action)
        if TURN._events is not None:
            TURN._events = [
                (KINDS.index(kind), columns._cut(name, columns.MAX_NAME).encode(), columns._cut(message, columns.MAX_TEXT).encode())  # type: ignore[misc]
                for kind, name, message in TURN._events
            ]
    except BaseException as e:
        _fail(e, set())


def refused() -> None:
    """Fails the slot that was refused something, also if its code went on without it."""
    if found := refusals.settle():
        kind, what, place, _count = found[0]
        FAULT[0] = f"the environment {refusals.KINDS[kind].format(what)}, at {place}; run it as a program if it needs that".encode("utf-8", "replace")


def _words(text: str) -> str:
    """What merit_reward says, of an environment."""
    return text.replace("a reward has", "an environment in the sandbox has").replace("of a reward", "of an environment")
