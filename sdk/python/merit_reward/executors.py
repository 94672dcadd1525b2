"""concurrent.futures in the sandbox, in place of its modules thread and process: what is submitted runs in place.

Each call is a thread of the sandbox (see ``threads``), so what is submitted has
run when ``submit`` returns, unless it waits for what comes later.
"""

from __future__ import annotations

import threading
from concurrent.futures import _base
from types import GenericAlias

from . import threads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Iterator


class BrokenThreadPool(_base.BrokenExecutor):
    """The initializer of a ThreadPoolExecutor failed."""


class BrokenProcessPool(_base.BrokenExecutor):
    """The initializer of a ProcessPoolExecutor failed, or one of its processes ended by itself."""


class _WorkItem:
    """One call and its future."""

    __class_getitem__ = classmethod(GenericAlias)

    def __init__(self, future: "Any", fn: "Callable[..., Any]", args: "tuple[Any, ...]", kwargs: "dict[str, Any]") -> None:
        self.future, self.fn, self.args, self.kwargs = future, fn, args, kwargs

    def run(self) -> None:
        if not self.future.running() and not self.future.set_running_or_notify_cancel():
            return
        try:
            result = self.fn(*self.args, **self.kwargs)
        except threads.Stuck:  # it never ends
            raise
        except BaseException as error:
            self.future.set_exception(error)
        else:
            self.future.set_result(result)


class ThreadPoolExecutor(_base.Executor):
    """Runs what is submitted in place."""

    _broken: "type[_base.BrokenExecutor]" = BrokenThreadPool
    _prefix = "ThreadPoolExecutor"
    _made = 0

    def __init__(self, max_workers: "int | None" = None, thread_name_prefix: str = "", initializer: "Any" = None, initargs: "tuple[Any, ...]" = ()) -> None:
        if max_workers is not None and max_workers <= 0:
            raise ValueError("max_workers must be greater than 0")
        if initializer is not None and not callable(initializer):
            raise TypeError("initializer must be a callable")
        cls = type(self)
        self._max_workers = max_workers or 1
        self._thread_name_prefix = thread_name_prefix or f"{self._prefix}-{cls._made}"
        cls._made += 1
        self._worker = threading.Thread(name=f"{self._thread_name_prefix}_0", daemon=True)  # what runs calls is called so
        self._initializer: "tuple[Any, ...] | None" = (initializer, *initargs) if initializer else None
        self._failed = self._shutdown = False
        self._calls: "list[tuple[_base.Future[Any], threading.Thread]]" = []

    def submit(self, fn: "Callable[..., Any]", /, *args: "Any", **kwargs: "Any") -> "_base.Future[Any]":
        if self._shutdown:
            raise RuntimeError("cannot schedule new futures after shutdown")
        self._begin()
        future: "_base.Future[Any]" = _base.Future()
        work = _WorkItem(future, self._call(fn), args, kwargs)
        if threads.would_wait((fn, args, kwargs)):
            thread = threading.Thread(target=work.run, name=self._worker.name, daemon=True)
            self._calls.append((future, thread))
            thread.start()
        else:
            threads.run_as(self._worker, work.run)
        return future

    def _begin(self) -> None:
        """Calls the initializer before the first call."""
        if self._initializer:
            initializer, *initargs = self._initializer
            self._initializer = None
            try:
                initializer(*initargs)
            except BaseException:
                self._failed = True
                _base.LOGGER.critical("Exception in initializer:", exc_info=True)
        if self._failed:
            raise self._broken("the initializer of the executor failed")

    def _call(self, fn: "Callable[..., Any]") -> "Callable[..., Any]":
        return fn

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._shutdown = True
        calls, self._calls = self._calls, []
        for future, thread in calls:
            if cancel_futures:
                future.cancel()
            if wait:
                thread.join()


class ProcessPoolExecutor(ThreadPoolExecutor):
    """Runs what is submitted in place, in the memory of the reward."""

    _broken = BrokenProcessPool
    _prefix = "ProcessPoolExecutor"
    _made = 0

    def __init__(self, max_workers: "int | None" = None, mp_context: "Any" = None, initializer: "Any" = None, initargs: "tuple[Any, ...]" = (), *, max_tasks_per_child: "int | None" = None) -> None:
        super().__init__(max_workers, "", initializer, initargs)

    def _call(self, fn: "Callable[..., Any]") -> "Callable[..., Any]":
        from .processes import Left, inside

        def call(*args: "Any", **kwargs: "Any") -> "Any":
            try:
                return inside(fn, args, kwargs)
            except Left as left:
                raise BrokenProcessPool("A process in the process pool was terminated abruptly") from left

        return call

    def map(self, fn: "Any", *iterables: "Any", timeout: "float | None" = None, chunksize: int = 1) -> "Iterator[Any]":
        if chunksize < 1:
            raise ValueError("chunksize must be >= 1.")
        return super().map(fn, *iterables, timeout=timeout)


_threads_queues: "dict[Any, Any]" = {}
