"""multiprocessing in the sandbox: processes run in place, in the memory of the reward.

A process is a thread of the sandbox (see ``threads``) that may end by itself:
by an exception, ``sys.exit`` or ``os._exit``. What it changes is not undone, as
there is no other memory that it could have changed.
"""

from __future__ import annotations

import os
import queue
import sys
import threading
import traceback

from . import threads
from .absent import PROCESSES, unavailable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Iterable, Iterator


class Left(BaseException):
    """Ends a process: os._exit."""


class ProcessError(Exception):
    pass


class BufferTooShort(ProcessError):
    pass


class TimeoutError(ProcessError):  # noqa: A001
    pass


class AuthenticationError(ProcessError):
    pass


_exit = os._exit
_inside: "list[Any]" = []  # the processes that run, innermost last


def _leave(status: int) -> None:
    if not _inside:
        _exit(status)
    raise Left(status)


os._exit = _leave  # type: ignore[assignment]


def inside(fn: "Callable[..., Any]", args: "Any", kwargs: "Any", process: "Any" = None) -> "Any":
    """Calls a function as in a process."""
    _inside.append(process)
    try:
        return fn(*args, **kwargs)
    finally:
        _inside.pop()


class _MainProcess:
    name, daemon, exitcode, authkey, pid, ident = "MainProcess", False, None, b"", os.getpid(), os.getpid()
    _parent_pid = 0

    def is_alive(self) -> bool:
        return True


_main = _MainProcess()
_count = 0


class Process:
    """``multiprocessing.Process``: ``start()`` runs it to its end."""

    def __init__(self, group: None = None, target: "Any" = None, name: "str | None" = None, args: "Any" = (), kwargs: "Any" = None, *, daemon: "bool | None" = None) -> None:
        global _count
        _count += 1
        self._target, self._args, self._kwargs = target, tuple(args), dict(kwargs or {})
        self.name = name or f"{type(self).__name__}-{_count}"
        self.daemon = bool(daemon)
        self.authkey = b""
        self._number = os.getpid() + _count
        self._parent_pid = os.getpid()
        self._thread: "threading.Thread | None" = None
        self._ended: "int | None" = None
        _children.append(self)

    def run(self) -> None:
        if self._target:
            self._target(*self._args, **self._kwargs)

    def start(self) -> None:
        assert self._thread is None, "cannot start a process twice"
        self._thread = _ProcessThread(self)
        self._thread.start()

    def _bootstrap(self) -> None:
        code = 1
        try:
            inside(self.run, (), {}, self)
            code = 0
        except Left as left:
            code = left.args[0]
        except threads.Stuck:
            raise
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
            if isinstance(end.code, str):
                sys.stderr.write(end.code + "\n")
        except BaseException:
            sys.stderr.write(f"Process {self.name}:\n{traceback.format_exc()}")
        if self._ended is None:
            self._ended = code

    def join(self, timeout: "float | None" = None) -> None:
        assert self._thread is not None, "can only join a started process"
        if self._ended is None:
            self._thread.join(timeout)

    def is_alive(self) -> bool:
        return self._thread is not None and self._ended is None and self._thread.is_alive()

    def terminate(self) -> None:
        self._kill(-15)

    def kill(self) -> None:
        self._kill(-9)

    def _kill(self, code: int) -> None:
        assert self._thread is not None, "cannot end a process that was not started"
        if self._ended is None:
            self._ended = code
            threads.forget(self._thread)

    def close(self) -> None:
        if self.is_alive():
            raise ValueError("Cannot close a process while it is still running. You should first call join() or terminate().")

    @property
    def exitcode(self) -> "int | None":
        self.is_alive()  # what was put off runs
        return self._ended

    @property
    def pid(self) -> "int | None":
        return None if self._thread is None else self._number

    ident = pid

    @property
    def sentinel(self) -> int:
        return self._number

    def __repr__(self) -> str:
        state = "initial" if self._thread is None else "started" if self._ended is None else f"stopped exitcode={self._ended}"
        return f"<{type(self).__name__} name={self.name!r} {state}>"


class _ProcessThread(threading.Thread):
    """What a process runs in; it can be looked through as the thread of a function."""

    def __init__(self, process: Process) -> None:
        super().__init__(target=process._target or process.run, args=process._args, kwargs=process._kwargs, daemon=process.daemon)
        self._process = process

    def run(self) -> None:
        self._process._bootstrap()


_children: "list[Process]" = []


def current_process() -> "Any":
    return next((p for p in reversed(_inside) if p is not None), _main)


def parent_process() -> "Any":
    return _main if _inside else None


def active_children() -> "list[Process]":
    return [p for p in _children if p.is_alive()]


class Queue(queue.Queue):  # type: ignore[type-arg]
    """``multiprocessing.Queue``, of one memory."""

    def __init__(self, maxsize: int = 0, *, ctx: "Any" = None) -> None:
        super().__init__(maxsize)

    def close(self) -> None:
        pass

    join_thread = cancel_join_thread = close


JoinableQueue = Queue


class SimpleQueue(queue.SimpleQueue):  # type: ignore[type-arg]
    def __init__(self, *, ctx: "Any" = None) -> None:
        super().__init__()

    def close(self) -> None:
        pass


class Connection:
    """One end of a pipe."""

    def __init__(self, incoming: "queue.Queue[Any]", outgoing: "queue.Queue[Any]") -> None:
        self._in, self._out, self.closed = incoming, outgoing, False

    def send(self, obj: "Any") -> None:
        self._out.put(obj)

    def recv(self) -> "Any":
        if self._in.empty() and getattr(self._in, "closed", False):
            raise EOFError
        return self._in.get()

    def send_bytes(self, data: "Any", offset: int = 0, size: "int | None" = None) -> None:
        self._out.put(bytes(data[offset:] if size is None else data[offset : offset + size]))

    def recv_bytes(self, maxlength: "int | None" = None) -> bytes:
        return bytes(self.recv())

    def poll(self, timeout: "float | None" = 0.0) -> bool:
        if self._in.empty():
            try:
                value = self._in.get(timeout != 0, timeout)
            except queue.Empty:
                return False
            self._in.queue.appendleft(value)
        return True

    def fileno(self) -> int:
        raise unavailable("multiprocessing.Connection.fileno", PROCESSES)

    def close(self) -> None:
        self.closed = self._out.closed = True  # type: ignore[attr-defined]

    def __enter__(self) -> "Connection":
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()


def Pipe(duplex: bool = True) -> "tuple[Connection, Connection]":
    a: "queue.Queue[Any]" = queue.Queue()
    b: "queue.Queue[Any]" = queue.Queue()
    return Connection(a, b), Connection(b, a)


def wait(connections: "Iterable[Any]", timeout: "float | None" = None) -> "list[Any]":
    """``multiprocessing.connection.wait``."""
    every = list(connections)
    until = None if timeout is None else threads._now() + timeout
    while True:
        ready = [c for c in every if not hasattr(c, "poll") or c.poll()]
        if ready or not every:
            return ready
        if until is not None and threads._now() >= until:
            return []
        if not threads.progress():
            if until is None:
                raise threads.never()
            threads.sleep(max(0.0, until - threads._now()))


class AsyncResult:
    """What a call of a pool came to."""

    def __init__(self, callback: "Any" = None, error_callback: "Any" = None) -> None:
        self._done = threading.Event()
        self._value: "Any" = None
        self._success = False
        self._callbacks = error_callback, callback

    def _set(self, success: bool, value: "Any") -> None:
        self._success, self._value = success, value
        if self._callbacks[success]:
            self._callbacks[success](value)
        self._done.set()

    def ready(self) -> bool:
        return self._done.is_set()

    def successful(self) -> bool:
        if not self.ready():
            raise ValueError(f"{self!r} not ready")
        return self._success

    def wait(self, timeout: "float | None" = None) -> None:
        self._done.wait(timeout)

    def get(self, timeout: "float | None" = None) -> "Any":
        self.wait(timeout)
        if not self.ready():
            raise TimeoutError
        if self._success:
            return self._value
        raise self._value


ApplyResult = MapResult = AsyncResult


class IMapIterator:
    """The results of a pool's imap."""

    def __init__(self, results: "Iterator[AsyncResult]") -> None:
        self._results = results

    def __iter__(self) -> "IMapIterator":
        return self

    def next(self, timeout: "float | None" = None) -> "Any":
        return next(self._results).get(timeout)

    __next__ = next


class Pool:
    """``multiprocessing.Pool`` and ``ThreadPool``: what is handed to it runs in place."""

    _in_process = True

    def __init__(self, processes: "int | None" = None, initializer: "Any" = None, initargs: "Any" = (), maxtasksperchild: "int | None" = None, context: "Any" = None) -> None:
        if processes is not None and processes < 1:
            raise ValueError("Number of processes must be at least 1")
        if initializer is not None and not callable(initializer):
            raise TypeError("initializer must be a callable")
        self._processes, self._closed = processes or 1, False
        self._calls: "list[threading.Thread]" = []
        self._worker = threading.Thread(name=f"{'Fork' if self._in_process else 'Thread'}PoolWorker-1", daemon=True)
        if initializer:
            initializer(*initargs)

    def _check_running(self) -> None:
        if self._closed:
            raise ValueError("Pool not running")

    def _call(self, fn: "Any", args: "Any", kwargs: "Any", result: AsyncResult) -> None:
        try:
            value = inside(fn, args, kwargs) if self._in_process else fn(*args, **kwargs)
        except (threads.Stuck, Left):  # natively the pool waits for its answer for ever
            raise threads.Stuck from None
        except BaseException as error:
            result._set(False, error)
        else:
            result._set(True, value)

    def apply_async(self, func: "Any", args: "Any" = (), kwds: "Any" = None, callback: "Any" = None, error_callback: "Any" = None) -> AsyncResult:
        self._check_running()
        result = AsyncResult(callback, error_callback)
        call = func, tuple(args), dict(kwds or {}), result
        if threads.would_wait(call):
            thread = threading.Thread(target=self._call, args=call, daemon=True)
            self._calls.append(thread)
            thread.start()
        else:
            threads.run_as(self._worker, self._call, *call)
        return result

    def apply(self, func: "Any", args: "Any" = (), kwds: "Any" = None) -> "Any":
        return self.apply_async(func, args, kwds).get()

    def map(self, func: "Any", iterable: "Iterable[Any]", chunksize: "int | None" = None) -> "list[Any]":
        return self.map_async(func, iterable, chunksize).get()  # type: ignore[no-any-return]

    def starmap(self, func: "Any", iterable: "Iterable[Any]", chunksize: "int | None" = None) -> "list[Any]":
        return self.starmap_async(func, iterable, chunksize).get()  # type: ignore[no-any-return]

    def map_async(self, func: "Any", iterable: "Iterable[Any]", chunksize: "int | None" = None, callback: "Any" = None, error_callback: "Any" = None) -> AsyncResult:
        return self.starmap_async(func, [(v,) for v in iterable], chunksize, callback, error_callback)

    def starmap_async(self, func: "Any", iterable: "Iterable[Any]", chunksize: "int | None" = None, callback: "Any" = None, error_callback: "Any" = None) -> AsyncResult:
        return self.apply_async(lambda calls: [func(*args) for args in calls], (list(iterable),), None, callback, error_callback)

    def imap(self, func: "Any", iterable: "Iterable[Any]", chunksize: int = 1) -> IMapIterator:
        self._check_running()
        return IMapIterator(iter([self.apply_async(func, (v,)) for v in iterable]))

    imap_unordered = imap

    def close(self) -> None:
        self._closed = True

    terminate = close

    def join(self) -> None:
        if not self._closed:
            raise ValueError("Pool is still running")
        for thread in self._calls:
            thread.join()

    def __enter__(self) -> "Pool":
        self._check_running()
        return self

    def __exit__(self, *_error: object) -> None:
        self.terminate()


class ThreadPool(Pool):
    _in_process = False


class _Locked:
    """What an object of shared memory has: a lock of its own, or the caller's."""

    def _lock_with(self, lock: "Any") -> None:
        self._lock = lock if hasattr(lock, "acquire") else threading.RLock()

    def get_lock(self) -> "Any":
        return self._lock

    def get_obj(self) -> "Any":
        return self

    def __enter__(self) -> "Any":
        return self._lock.__enter__()

    def __exit__(self, *error: "Any") -> None:
        self._lock.__exit__(*error)


class Value(_Locked):
    """``multiprocessing.Value``, of one memory."""

    def __init__(self, typecode_or_type: "Any", *args: "Any", lock: "Any" = True) -> None:
        self.value = args[0] if args else b"\0" if typecode_or_type == "c" else 0.0 if typecode_or_type in ("d", "f") else 0
        self._lock_with(lock)
        self.acquire, self.release = self._lock.acquire, self._lock.release


class Array(_Locked, list):  # type: ignore[type-arg]
    """``multiprocessing.Array``, of one memory."""

    def __init__(self, typecode_or_type: "Any", size_or_initializer: "Any", *, lock: "Any" = True) -> None:
        zero = 0.0 if typecode_or_type in ("d", "f") else 0
        super().__init__([zero] * size_or_initializer if isinstance(size_or_initializer, int) else size_or_initializer)
        self._lock_with(lock)


RawValue, RawArray = Value, Array


class Namespace:
    def __init__(self, /, **kwds: "Any") -> None:
        self.__dict__.update(kwds)

    def __repr__(self) -> str:
        return f"Namespace({', '.join(f'{k}={v!r}' for k, v in sorted(self.__dict__.items()))})"


class Manager:
    """``multiprocessing.Manager()``: what it makes are the things themselves."""

    def __init__(self, *_arguments: "Any", **_named: "Any") -> None:
        self.address = None

    Queue, JoinableQueue, Namespace, Value, Array = Queue, JoinableQueue, Namespace, Value, Array
    Lock, RLock, Event, Condition = threading.Lock, threading.RLock, threading.Event, threading.Condition
    Semaphore, BoundedSemaphore, Barrier, Pool = threading.Semaphore, threading.BoundedSemaphore, threading.Barrier, Pool

    @staticmethod
    def list(*args: "Any") -> "Any":
        return _List(*args)

    @staticmethod
    def dict(*args: "Any", **kwds: "Any") -> "Any":
        return _Dict(*args, **kwds)

    def start(self, *_arguments: "Any") -> None:
        pass

    shutdown = connect = start

    @classmethod
    def register(cls, typeid: str, callable: "Any" = None, *_arguments: "Any", **_named: "Any") -> None:
        setattr(cls, typeid, staticmethod(callable))

    def __enter__(self) -> "Manager":
        return self

    def __exit__(self, *_error: object) -> None:
        pass


class _List(list):  # type: ignore[type-arg]
    def _getvalue(self) -> "Any":
        return list(self)


class _Dict(dict):  # type: ignore[type-arg]
    def _getvalue(self) -> "Any":
        return dict(self)


class Context:
    """What get_context returns: all of multiprocessing, whatever the method is called."""

    def __init__(self, method: "str | None" = None) -> None:
        if method not in (None, "fork", "spawn", "forkserver"):
            raise ValueError(f"cannot find context for {method!r}")
        self._method = method or "fork"

    def get_context(self, method: "str | None" = None) -> "Context":
        return Context(method or self._method)

    def get_start_method(self, allow_none: bool = False) -> str:
        return self._method

    def set_start_method(self, method: "str | None", force: bool = False) -> None:
        self._method = Context(method)._method

    def get_all_start_methods(self) -> "list[str]":
        return ["fork", "spawn", "forkserver"]

    def __getattr__(self, name: str) -> "Any":
        try:
            return NAMES[name]
        except KeyError:
            raise AttributeError(name) from None


_context = Context()


def _logger() -> "Any":
    import logging

    return logging.getLogger("multiprocessing")


class _Finalize:
    def __init__(self, _obj: "Any", callback: "Any", args: "Any" = (), kwargs: "Any" = None, exitpriority: "Any" = None) -> None:
        self._call = callback, args, kwargs or {}

    def __call__(self) -> "Any":
        callback, args, kwargs = self._call
        return callback(*args, **kwargs)


NAMES: "dict[str, Any]" = {
    **{
        n: getattr(threading, n)
        for n in ("Lock", "RLock", "Event", "Condition", "Semaphore", "BoundedSemaphore", "Barrier")
    },
    **{
        v.__name__: v
        for v in (
            Process, Queue, JoinableQueue, SimpleQueue, Pipe, Pool, Manager, Value, Array, ProcessError, BufferTooShort, TimeoutError,
            AuthenticationError, current_process, parent_process, active_children,
        )
    },
    "JoinableQueue": JoinableQueue,
    "RawValue": RawValue,
    "RawArray": RawArray,
    "cpu_count": lambda: 1,
    "freeze_support": lambda: None,
    "get_logger": _logger,
    "log_to_stderr": lambda level=None: _logger(),
    "allow_connection_pickling": lambda: None,
    "set_executable": lambda _path: None,
    "set_forkserver_preload": lambda _names: None,
    "get_context": _context.get_context,
    "get_start_method": _context.get_start_method,
    "set_start_method": _context.set_start_method,
    "get_all_start_methods": _context.get_all_start_methods,
}

BY_MODULE: "dict[str, dict[str, Any]]" = {
    "connection": {"Connection": Connection, "Pipe": Pipe, "wait": wait, "AuthenticationError": AuthenticationError},
    "context": {
        **{n: Context for n in ("BaseContext", "DefaultContext", "ForkContext", "SpawnContext", "ForkServerContext")},
        **{n: Process for n in ("Process", "ForkProcess", "SpawnProcess", "ForkServerProcess")},
        **{v.__name__: v for v in (ProcessError, BufferTooShort, TimeoutError, AuthenticationError)},
        "get_spawning_popen": lambda: None,
        "assert_spawning": lambda _obj: None,
    },
    "dummy": {**NAMES, "Process": threading.Thread, "Pool": ThreadPool, "current_process": threading.current_thread, "list": list, "dict": dict, "Namespace": Namespace},
    "dummy.connection": {"Pipe": Pipe, "Connection": Connection},
    "managers": {**{n: Manager for n in ("BaseManager", "SyncManager", "SharedMemoryManager")}, "Namespace": Namespace, "BaseProxy": object, "DictProxy": _Dict, "ListProxy": _List, "ValueProxy": Value},
    "pool": {"Pool": Pool, "ThreadPool": ThreadPool, "AsyncResult": AsyncResult, "ApplyResult": ApplyResult, "MapResult": MapResult, "IMapIterator": IMapIterator, "IMapUnorderedIterator": IMapIterator, "TimeoutError": TimeoutError},
    "process": {"BaseProcess": Process, "current_process": current_process, "active_children": active_children, "parent_process": parent_process, "AuthenticationString": bytes, "ORIGINAL_DIR": None},
    "queues": {"Queue": Queue, "JoinableQueue": JoinableQueue, "SimpleQueue": SimpleQueue, "Empty": queue.Empty, "Full": queue.Full},
    "shared_memory": {},
    "sharedctypes": {"Value": Value, "Array": Array, "RawValue": Value, "RawArray": Array, "Synchronized": Value},
    "synchronize": {n: getattr(threading, n) for n in ("Lock", "RLock", "Event", "Condition", "Semaphore", "BoundedSemaphore", "Barrier")},
    "util": {"Finalize": _Finalize, "get_logger": _logger, "log_to_stderr": lambda level=None: _logger(), "register_after_fork": lambda _obj, _func: None},
}


def module(name: str) -> "Any":
    """A module of multiprocessing; what it lacks says so."""
    made = type(sys)(name)
    package, _, sub = name.partition(".")
    made.__dict__.update(BY_MODULE[sub] if sub else NAMES)

    def attribute(key: str) -> "Any":
        if key[:1] == "_":
            raise AttributeError(f"module {name!r} has no attribute {key!r}")
        if sub != "shared_memory":
            raise AttributeError(f"module {name!r} has no attribute {key!r}")
        from .absent import refuse

        return refuse(f"{name}.{key}", PROCESSES)

    made.__getattr__ = attribute  # type: ignore[method-assign]
    return made
