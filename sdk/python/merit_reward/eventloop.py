"""The event loop of asyncio in the sandbox, in place of asyncio.unix_events.

Nothing comes from outside, so there is nothing to select: tasks take turns, and
when all of them sleep the clock is moved on. It needs no sockets, and the same
reward takes the same turns every time.
"""

from __future__ import annotations

import time
from asyncio import base_events, events, futures

from . import threads
from .absent import NETWORK, PROCESSES, refuse

__all__ = ("SelectorEventLoop", "DefaultEventLoopPolicy")


class _Clock:
    """What the loop waits with, in place of a selector."""

    def select(self, timeout):  # type: ignore[no-untyped-def]
        if timeout is None:
            if not threads.progress():
                raise threads.never()
            return ()
        if timeout > 0:
            time.sleep(timeout)
        return ()


class SelectorEventLoop(base_events.BaseEventLoop):
    """Runs tasks in turn; what would need a thread, a socket or a process says so."""

    def __init__(self) -> None:
        super().__init__()
        self._selector = _Clock()

    def _process_events(self, _events) -> None:  # type: ignore[no-untyped-def]
        pass

    def _write_to_self(self) -> None:
        pass

    def run_in_executor(self, executor, func, *args):  # type: ignore[no-untyped-def]
        """Runs the function in place: the future that it returns is done, unless the function waits for others."""
        self._check_closed()
        if executor is None:
            from concurrent.futures import ThreadPoolExecutor

            executor = ThreadPoolExecutor()
        return futures.wrap_future(executor.submit(func, *args), loop=self)

    def set_default_executor(self, executor) -> None:  # type: ignore[no-untyped-def]
        pass

    getaddrinfo = getnameinfo = refuse("asyncio", NETWORK)
    create_connection = create_server = create_datagram_endpoint = refuse("asyncio", NETWORK)
    create_unix_connection = create_unix_server = refuse("asyncio", NETWORK)
    subprocess_exec = subprocess_shell = refuse("asyncio", PROCESSES)


class DefaultEventLoopPolicy(events.BaseDefaultEventLoopPolicy):
    """Makes loops of this kind."""

    _loop_factory = SelectorEventLoop
