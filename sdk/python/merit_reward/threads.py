"""Threads of the sandbox, which run in place: one after the other, on the fuel of the evaluation.

There is one thread of WebAssembly, so ``start()`` runs a thread to its end. This
module gives ``_thread`` what it takes for that, and CPython's own ``threading``,
``queue`` and all that stands on them work unchanged. Three rules hold:

* A thread that would wait at once is put off: one that sleeps, or that is given
  an empty queue, an unset event or a held lock. It runs when somebody waits for
  it or for anything else, as it might if it had been started slowly. A Timer
  runs when the clock, which only sleeping moves, has come to its time.
* Whoever waits with a time-out sees the time pass, if nothing that can still run ends
  the wait. No real time passes.
* A thread that waits for more in its loop, as ``while True: item = q.get()``
  does, goes on when there is more: its function is called again, if it would
  come to the same wait with nothing done on the way and nothing forgotten.
* A wait without a time-out that nothing can end is an UnavailableError in the
  reward, and the end of a thread, which from then on counts as alive.
"""

from __future__ import annotations

import sys
import time

import _signal
import _thread

from .absent import THREADS, UnavailableError
from .refusals import PENDING, authors, guarded, note

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

FOREVER = "the reward waits for something that never comes: nothing that runs beside it is left to bring it"
WAITS = frozenset(("get", "wait", "wait_for", "acquire", "recv", "join", "result"))  # methods by which threads wait
MOST = 16  # of what a thread is given, that is looked at
PLAIN = frozenset((str, int, float, bool, bytes, type, type(None), type(sys), type(len)))  # types of what nobody waits for
DEPTH = 3  # of functions that a thread calls, in which these are looked for

_main = _thread.get_ident()
_idents = [_main, _main]  # that of the thread that runs, and the last that was given
_running: "list[_Run]" = []  # innermost last
_put_off: "list[_Run]" = []
_kept: "list[_Run]" = []  # those put off while the reward was loaded
_locals: "list[tuple[Any, Any, Any]]" = []
_deadlines: "list[float]" = []  # of those that wait while another runs
_alarm: "list[float]" = []  # when signal.alarm goes off
_sleep, _now = time.sleep, time.monotonic


class Stuck(SystemExit):
    """Ends a thread that waits for ever: it is no error of the thread's own."""


class Lock:
    """``threading.Lock``: whoever waits for it has others run."""

    __slots__ = ("_held", "_run", "_stuck", "__weakref__")

    def __init__(self) -> None:
        self._held, self._run, self._stuck = False, None, False

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        if not blocking and timeout != -1:
            raise ValueError("can't specify a timeout for a non-blocking call")
        if timeout < 0 and timeout != -1:
            raise ValueError("timeout value must be a non-negative number")
        if self._held:
            if not blocking and self._run is not None and self._run in _put_off:  # somebody looks whether a thread has ended
                _go(self._run)
            if self._held and not (blocking and _wait(self, timeout)):
                return False
        self._held = True
        return True

    acquire_lock = acquire

    def release(self) -> None:
        if not self._held:
            raise RuntimeError("release unlocked lock")
        self._held = False
        if self._stuck:
            _woken()

    release_lock = release

    def locked(self) -> bool:
        return self._held

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_error: object) -> None:
        self.release()

    def _at_fork_reinit(self) -> None:
        self._held = False

    def __repr__(self) -> str:
        return f"<{'locked' if self._held else 'unlocked'} _thread.lock object>"


class Handle:
    """``_thread._ThreadHandle`` of Python 3.13: by what ``threading.Thread`` joins a thread that it has started."""

    __slots__ = ("ident", "_ended")

    def __init__(self, ident: "int | None" = None, ended: "Lock | None" = None) -> None:
        self.ident, self._ended = ident, ended

    def join(self, timeout: "float | None" = None) -> None:
        if self._ended is not None and self._ended.acquire(True, -1 if timeout is None else timeout):
            self._ended.release()

    def is_done(self) -> bool:
        return self._ended is not None and not self._ended.locked()

    def _set_done(self) -> None:
        self._ended = Lock()


class _Run:
    """One thread: what it calls, and the lock that is held until it ends."""

    def __init__(self, function: "Callable[..., Any]", args: "tuple[Any, ...]", kwargs: "dict[str, Any]") -> None:
        self.call = function, args, kwargs
        _idents[1] += 1
        self.ident = _idents[1]
        self.ended = Lock()
        self.ended._held, self.ended._run = True, self
        self.timer: "Any" = None
        self.due: "float | None" = None  # of a timer
        self.daemon = False
        self.sleeps = False
        self.stuck = False
        self.again = False  # it is called once more when what it waits for is there
        self.awaited: "Any" = None
        self.values: "list[tuple[Any, dict[str, Any]]]" = []  # of threading.local, then

    def __call__(self) -> None:
        function, args, kwargs = self.call
        outer, _idents[0] = _idents[0], self.ident
        if self.timer is not None and self.due is not None:
            self.timer.interval = max(0.0, self.due - _now())
        _running.append(self)
        theirs, loop = _fresh_locals(), _no_loop()
        _restore_locals(self.values)
        thread = getattr(function, "__self__", None)
        given = {k: v for k, v in getattr(thread, "__dict__", {}).items() if k in ("_target", "_args", "_kwargs")}
        try:
            function(*args, **kwargs)
        except SystemExit:
            pass
        except BaseException as error:
            _thread._excepthook(_thread._ExceptHookArgs((type(error), error, error.__traceback__, None)))  # type: ignore[attr-defined]
        finally:
            self.values = [(each, _dict(each).copy()) for each, _, _ in _locals] if self.again else []
            _restore_locals(theirs)
            _set_loop(loop)
            _running.pop()
            _idents[0] = outer
            if self.again:
                self.again = False
                _put_off.append(self)
                if given:  # as it was when it was started
                    thread.__dict__.update(given)
                    sys.modules["threading"]._limbo[thread] = thread  # type: ignore[attr-defined]
            elif not self.stuck:
                self.ended._held = False


def _go(run: _Run) -> None:
    _put_off.remove(run)
    run.awaited = None
    run()


def _ready(run: _Run) -> bool:
    return run.due is None and (run.awaited is None or not _unready(run.awaited))


def _next(until: "float | None", asleep: bool = False) -> "_Run | None":
    """What runs next of what was put off: those that wait, in order; then the first timer that goes off by then."""
    for run in _put_off:
        if _ready(run) and not (asleep and run.sleeps and run.daemon):
            return run
    timers = [r for r in _put_off if r.due is not None and (until is None or r.due <= until)]
    return min(timers, key=lambda r: r.due) if timers else None  # type: ignore[arg-type, return-value]


def _wait(lock: Lock, timeout: float) -> bool:
    """Has others run until the lock is free; whether it is."""
    until = None if timeout < 0 else _now() + timeout
    if until is not None:
        _deadlines.append(until)
    try:
        while lock._held and (run := _next(until)) is not None:
            _go(run)
    finally:
        if until is not None:
            _deadlines.pop()
    if not lock._held:
        return True
    if until is not None:
        _pass(until)
        return not lock._held
    if _running:
        _park(lock)
    raise never()


def never() -> UnavailableError:
    """The error of a wait that nothing can end."""
    note("thread", THREADS_WAIT)
    return UnavailableError(f"{FOREVER} ({THREADS}; wait with a time-out, or bring it before you wait)")


THREADS_WAIT = "a wait without an end"


def _park(lock: Lock) -> None:
    """Ends the thread that runs: it waits for what is not there, and cannot be gone back to."""
    run = _running[-1]
    if (awaited := _loop()) is not None:
        run.again, run.awaited = True, awaited
        raise Stuck
    run.stuck = lock._stuck = True
    _watch_conditions()
    raise Stuck


# Instructions that do nothing but fetch what is called.
FETCHING = frozenset((
    "RESUME", "NOP", "CACHE", "COPY_FREE_VARS", "PUSH_NULL", "KW_NAMES", "LOAD_FAST", "LOAD_FAST_LOAD_FAST", "LOAD_GLOBAL", "LOAD_DEREF", "LOAD_ATTR", "LOAD_CONST", "EXTENDED_ARG",
))


def _loop() -> "Any":
    """What the thread that runs waits for, if its function can be called again instead of going on; else None."""
    bottom = _Run.__call__.__code__
    inner: "Any" = sys._getframe(2)
    frame = inner.f_back
    while frame is not None and frame.f_code is not bottom and not authors(frame):
        inner, frame = frame, frame.f_back
    thing = inner.f_locals.get("self")
    if frame is None or frame.f_code is bottom or type(thing).__name__ in ("Condition", "Barrier") or not _unready(thing):
        return None
    while authors(frame):
        if not _repeatable(frame):
            return None
        frame = frame.f_back
    while frame is not None and frame.f_code is not bottom and not authors(frame):
        frame = frame.f_back
    return thing if frame is not None and frame.f_code is bottom else None


def _repeatable(frame: "Any") -> bool:
    """Whether a function comes to the same state if it is called again.

    So it is where the call that waits is the first thing that it does, its
    arguments are what they were, and no other variable keeps its value from one
    round of a loop to the next: the compiler marks the use of one that might.
    """
    code = frame.f_code
    if guarded(frame) or code.co_cellvars:
        return False
    import dis

    given = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & 4) + bool(code.co_flags & 8)]
    every = [*dis.get_instructions(code)]
    if any(i.opname == "LOAD_FAST_CHECK" or not _stored(i).isdisjoint(given) for i in every):
        return False
    reached = [i for i in every if i.offset <= frame.f_lasti]  # the last is the call that waits
    before = [i.opname for i in reached[:-1] if i.opname not in FETCHING]
    iterates = [i.argval for i in every if i.opname == "LOAD_GLOBAL"][:1] == ["iter"] and "iter" not in frame.f_globals
    return not before or iterates and before == ["CALL", "GET_ITER"]  # for item in iter(q.get, None)


def _stored(i: "Any") -> "set[str]":
    """The variables that an instruction sets or deletes."""
    if i.opname in ("STORE_FAST", "DELETE_FAST"):
        return {i.argval}
    if i.opname == "STORE_FAST_LOAD_FAST":
        return {i.argval[0]}
    return {*i.argval} if i.opname == "STORE_FAST_STORE_FAST" else set()


def _watch_conditions() -> None:
    """Notes it if somebody wakes a thread that cannot be gone back to."""
    threading = sys.modules.get("threading")
    frame: "Any" = sys._getframe(2)
    while threading is not None and frame is not None:
        if frame.f_code is threading.Condition.wait.__code__:
            condition = frame.f_locals["self"]
            notify = condition.notify

            def woken(n: int = 1) -> None:
                _woken()
                notify(n)

            condition.notify = woken
            return
        frame = frame.f_back


def _woken() -> None:
    note("thread", "a thread waited for something that was provided only after it had stopped (start its function with the loop that waits, or provide all that it waits for, the end marker included, before anything waits for the thread)")


def sleep(seconds: float) -> None:
    """``time.sleep``: the clock moves on, and what was put off until then runs."""
    if seconds < 0:
        raise ValueError("sleep length must be non-negative")
    until = _now() + seconds
    while (run := _next(until, asleep=True)) is not None:
        _go(run)
    if _running and _deadlines and min(_deadlines) < until:  # whoever waits for this thread gives it up before it wakes
        _running[-1].stuck = True
        raise Stuck
    _pass(until)


def _pass(until: float) -> None:
    """Moves the clock to a time; an alarm that was set for before goes off."""
    if _alarm and _alarm[0] <= until:
        _sleep(max(0.0, _alarm.pop() - _now()))
        handler = _signal.getsignal(_signal.SIGALRM)
        if callable(handler):
            handler(_signal.SIGALRM, sys._getframe(1))
    _sleep(max(0.0, until - _now()))


def setitimer(_which: int, seconds: float, _interval: float = 0.0) -> "tuple[float, float]":
    """``signal.setitimer`` and what stands behind ``alarm``."""
    PENDING["threads"] = finish
    left = max(0.0, _alarm[0] - _now()) if _alarm else 0.0
    _alarm[:] = [_now() + seconds] if seconds > 0 else []
    return left, 0.0


def forget(thread: "Any") -> None:
    """Ends a thread that was put off or waits for ever."""
    lock = _ended(thread)
    if lock is not None:
        lock._held = False
        _put_off[:] = [r for r in _put_off if r.ended is not lock]


def _ended(thread: "Any") -> "Lock | None":
    """The lock that is held until a thread ends; None if it has not been started."""
    return thread._handle._ended if hasattr(thread, "_handle") else thread._tstate_lock  # type: ignore[no-any-return]


def in_order(module: "Any") -> None:
    """Gives concurrent.futures an as_completed that keeps the order in which the futures are given."""

    def as_completed(fs: "Any", timeout: "float | None" = None) -> "Any":
        left = list(dict.fromkeys(fs))
        count, until = len(left), None if timeout is None else _now() + timeout
        while left:
            rest = None if until is None else max(0.0, until - _now())
            if not any(f.done() for f in left) and not module.wait(left, rest, module.FIRST_COMPLETED).done:
                raise TimeoutError(f"{len(left)} (of {count}) futures unfinished")
            done = [f for f in left if f.done()]
            left = [f for f in left if not f.done()]
            yield from done

    module.as_completed = as_completed


def progress() -> bool:
    """Has something run that was put off, for the event loop; whether there was anything."""
    run = _next(None)
    if run is not None:
        _go(run)
    return run is not None


def finish() -> None:
    """The end of an evaluation, of a start or of a program: threads that nobody waited for run, but daemons and timers do not."""
    while waiting := [r for r in _put_off if _ready(r) and not r.daemon and r not in _kept]:
        _go(waiting[0])
    drop()


def keep() -> None:
    """The end of a start: threads that wait for what evaluations bring are there in each of them."""
    _kept[:] = [r for r in _put_off if r.due is None and not r.sleeps]


def drop() -> None:
    """Forgets what was put off, but for what was put off while the reward was loaded."""
    _put_off[:] = _kept
    _alarm.clear()


def start_new_thread(
    function: "Callable[..., Any]", args: "tuple[Any, ...]", kwargs: "dict[str, Any] | None" = None, handle: "Handle | None" = None
) -> int:
    if not callable(function):
        raise TypeError("first arg must be callable")
    run = _Run(function, args, kwargs or {})
    if handle is not None:
        handle.ident, handle._ended = run.ident, run.ended
    PENDING["threads"] = finish
    thread, threading = getattr(function, "__self__", None), sys.modules.get("threading")
    if threading is None or not isinstance(thread, threading.Thread) or not _waits(run, thread, threading):
        run()
        return run.ident
    run.daemon = thread.daemon
    thread._ident = run.ident  # type: ignore[attr-defined]
    if handle is None:
        thread._tstate_lock = run.ended  # type: ignore[attr-defined]
    thread._started.set()  # type: ignore[attr-defined]
    _put_off.append(run)
    return run.ident


def _start_joinable_thread(function: "Callable[..., Any]", handle: "Handle | None" = None, daemon: bool = True) -> Handle:
    """How ``threading.Thread`` of Python 3.13 starts."""
    handle = Handle() if handle is None else handle
    start_new_thread(function, (), handle=handle)
    return handle


def run_as(thread: "Any", function: "Callable[..., Any]", *args: "Any") -> None:
    """Runs a function in place, as in a thread that has not been started."""
    active = sys.modules["threading"]._active  # type: ignore[attr-defined]
    PENDING["threads"] = finish
    run = _Run(function, args, {})
    active[run.ident] = thread
    try:
        run()
    finally:
        del active[run.ident]


def _waits(run: _Run, thread: "Any", threading: "Any") -> bool:
    """Whether a thread would wait at once, as far as its code and what it is given tell."""
    if isinstance(thread, threading.Timer):
        run.timer, run.due = thread, _now() + thread.interval
        return True
    waits = would_wait((getattr(thread, "_target", None) or thread.run, thread._args, thread._kwargs), thread)
    run.sleeps = waits == "sleeps"
    return bool(waits)


def would_wait(call: "tuple[Any, ...]", thread: "Any" = None) -> str:
    """How a call would wait at once, as far as the code and what it is given tell; empty if it would not."""
    names: "set[str]" = set()
    things: "list[Any]" = []
    _look(call, names, things, {id(thread)}, DEPTH)
    if "sleep" in names:
        return "sleeps"
    locked = any(isinstance(t, Lock) and t._held for t in things)
    return "waits" if locked or not names.isdisjoint(WAITS) and any(map(_unready, things)) else ""


def _look(value: "Any", names: "set[str]", things: "list[Any]", seen: "set[int]", depth: int) -> None:
    """Collects the names that the code of a function has, and the things that it can reach."""
    if depth < 0 or id(value) in seen:
        return
    kind = value.__class__
    if kind is tuple or kind is list or kind is dict:
        for v in [*(value.values() if kind is dict else value)][:MOST]:
            if v.__class__ not in PLAIN:
                _look(v, names, things, seen, depth)
        return
    seen.add(id(value))
    if kind in PLAIN:
        return
    if (code := getattr(value, "__code__", None)) is not None and not hasattr(value, "__func__"):
        own = _names(code)
        names |= own
        names.add(value.__name__)
        reached = [value.__globals__.get(n) for n in own]
        if value.__closure__:
            reached += [c.cell_contents for c in value.__closure__ if _filled(c)]
        if reached:
            _look(reached, names, things, seen, depth - 1)
    elif hasattr(value, "__func__"):
        names.add(value.__func__.__name__)
        _look((value.__func__, value.__self__), names, things, seen, depth)
    elif callable(value) and hasattr(value, "func"):
        _look((value.func, value.args, value.keywords), names, things, seen, depth)
    else:
        things.append(value)
        if (held := getattr(value, "__dict__", None)) and type(value).__module__ not in ("threading", "queue"):
            _look(held, names, things, seen, depth - 1)


def _filled(cell: "Any") -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


def _names(code: "Any") -> "set[str]":
    names = {*code.co_names}
    for constant in code.co_consts:
        if hasattr(constant, "co_names"):
            names |= _names(constant)
    return names


def _unready(thing: "Any") -> bool:
    """Whether a wait for a thing would not end at once."""
    kind = type(thing)
    if isinstance(thing, Lock):
        return thing._held
    if kind.__module__ == "threading":
        return kind.__name__ in ("Condition", "Barrier") or kind.__name__ == "Event" and not thing.is_set() or getattr(thing, "_value", 1) == 0
    if kind.__name__ == "Future":
        return not thing.done()
    return hasattr(thing, "qsize") and not thing.qsize() or hasattr(thing, "poll") and hasattr(thing, "recv") and not thing.poll(0)


def get_ident() -> int:
    return _idents[0]


def _set_sentinel() -> Lock:
    """The lock that threading.Thread.join waits for."""
    if not _running:
        return Lock()
    _running[-1].ended._held = False
    return _running[-1].ended


class local(_thread._local):  # type: ignore[name-defined, misc]
    """``threading.local``: a thread begins with none of the others' values."""

    def __new__(cls, /, *args: "Any", **kwargs: "Any") -> "local":
        self = super().__new__(cls, *args, **kwargs)
        _locals.append((self, args, kwargs))
        return self  # type: ignore[no-any-return]


def _dict(self: "Any") -> "dict[str, Any]":
    return local.__base__.__getattribute__(self, "__dict__")  # type: ignore[no-any-return, union-attr, misc]


def _fresh_locals() -> "list[tuple[Any, dict[str, Any]]]":
    kept = []
    for self, args, kwargs in _locals:
        values = _dict(self)
        kept.append((self, values.copy()))
        values.clear()
        if type(self).__init__ is not object.__init__:
            self.__init__(*args, **kwargs)
    return kept


def _restore_locals(kept: "list[tuple[Any, dict[str, Any]]]") -> None:
    for self, values in kept:
        now = _dict(self)
        now.clear()
        now.update(values)


def _no_loop() -> "Any":
    """Hides the event loop that runs: a thread may run one of its own."""
    if events := sys.modules.get("asyncio.events"):
        loop = events._get_running_loop()
        events._set_running_loop(None)
        return loop
    return None


def _set_loop(loop: "Any") -> None:
    if loop is not None:
        sys.modules["asyncio.events"]._set_running_loop(loop)  # type: ignore[attr-defined]


def install() -> None:
    """Gives _thread its functions, before threading reads them."""
    import _frozen_importlib

    if _thread.allocate_lock is Lock:
        return
    kept = type(sys)("_thread")  # importing needs no lock that others wait for
    kept.__dict__.update(_thread.__dict__)
    _frozen_importlib._thread = kept  # type: ignore[attr-defined]
    own = _thread._excepthook  # type: ignore[attr-defined]
    _thread._excepthook = lambda args: None if args.exc_type is Stuck else own(args)  # type: ignore[attr-defined]
    _thread.allocate_lock = _thread.allocate = _thread.LockType = Lock  # type: ignore[assignment, misc]
    _thread.start_new_thread = _thread.start_new = start_new_thread  # type: ignore[assignment]
    _thread._set_sentinel, _thread.get_ident, _thread._local = _set_sentinel, get_ident, local  # type: ignore[attr-defined, assignment]
    if hasattr(_thread, "start_joinable_thread"):
        _thread.start_joinable_thread, _thread._ThreadHandle, _thread._make_thread_handle = _start_joinable_thread, Handle, Handle  # type: ignore[attr-defined]
        _thread._get_main_thread_ident = lambda: _main  # type: ignore[attr-defined]
    time.sleep = sleep  # type: ignore[assignment]
    sys.modules["_queue"] = None  # type: ignore[assignment]  # its queue would wait in C
