"""Programs without a sandbox, for ``python -m merit_reward`` and the tests of authors.

A process with a pipe: it keeps a solution out of the interpreter of the reward,
and no more. What runs there can do what the user can do: read and write files,
use the network, stay behind. A time-out stands in for fuel, so that what takes long
is out of fuel here or not as the machine has it.
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import sys
import time

from .absent import UnavailableError

FUEL_PER_SECOND = 20_000_000  # with which a time-out is made of fuel: generous, a busy machine must not decide
SHORTEST = 5.0  # seconds
MEMORY = 1 << 30  # bytes of address space
LONGEST = 16 << 20  # bytes of an answer
PYTHON = """import sys, os
sys.path[0] = sys.argv[1]
out = os.fdopen(os.dup(1), "w", encoding="utf-8")
requests = os.fdopen(os.dup(0), encoding="utf-8")
null = os.open(os.devnull, os.O_RDWR)
for fd in 0, 1, 2: os.dup2(null, fd)
try:
    import resource
    resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[2]),) * 2)
except (ImportError, ValueError, OSError): pass
del sys.argv[1:]
from merit_reward import _program
_program.serve(requests, out)
"""


class Transport:
    """An interpreter in a process of its own."""

    def __init__(self, language: str) -> None:
        self._process: "subprocess.Popen[bytes] | None" = None
        self._asked: "list[tuple[str, int]]" = []  # before the mark: to rewind is to ask them again
        self._marked = False
        if language != "python":
            raise UnavailableError(f"programs in {language} run in the sandbox only: score with merit, not natively")
        self._begin()

    def _begin(self) -> None:
        folder = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        self._process = subprocess.Popen(
            [sys.executable, "-S", "-s", "-B", "-c", PYTHON, folder, str(MEMORY)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={"PYTHONHASHSEED": "0", "PATH": os.environ.get("PATH", "")},
            start_new_session=True,
        )

    def ask(self, request: str, fuel: int) -> "tuple[str, str, int]":
        """Sends one request and waits for its answer, or ends the program: outcome, text, fuel."""
        if self._process is None:
            return "crashed", "the process ended while it was loaded again", 0
        if not self._marked:
            self._asked.append((request, fuel))
        seconds = max(SHORTEST, fuel / FUEL_PER_SECOND)
        try:
            line = _exchange(self._process, request.encode() + b"\n", time.monotonic() + seconds)
        except TimeoutError:
            self.close()
            return "out_of_fuel", f"no answer after {seconds:.0f} s, which stand for {fuel} fuel where there is no sandbox", 0
        if not line.endswith(b"\n"):
            self._process.kill()
            code = self._process.wait()
            self.close()
            return "crashed", f"the process gave no answer and ended with {code}", 0
        return "answered", line[:-1].decode("utf-8", "replace"), 0

    def mark(self) -> None:
        """Remembers what was asked until now."""
        self._marked = True

    def rewind(self) -> None:
        """A new process that was asked the same: as good as the state of the old one, unless chance or the clock decide."""
        self.close()
        self._begin()
        for request, fuel in self._asked:
            self.ask(request, fuel)

    def close(self) -> None:
        """Ends the process and those that it has started in its session."""
        process, self._process = self._process, None
        if process is None:
            return
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            try:
                pipe.close()  # type: ignore[union-attr]
            except OSError:
                pass

    __del__ = close


def _exchange(process: "subprocess.Popen[bytes]", request: bytes, deadline: float) -> bytes:
    """Writes the request and reads a line; less than a line if the process ends."""
    into, out = process.stdin.fileno(), process.stdout.fileno()  # type: ignore[union-attr]
    os.set_blocking(into, False)
    line = bytearray()
    with selectors.DefaultSelector() as wait:
        wait.register(into, selectors.EVENT_WRITE)
        wait.register(out, selectors.EVENT_READ)
        while not line.endswith(b"\n"):
            ready = wait.select(max(0.0, deadline - time.monotonic()))
            if not ready:
                raise TimeoutError
            for key, _ in ready:
                try:
                    if key.fd == out:
                        read = os.read(out, 1 << 16)
                        if not read or len(line) > LONGEST:
                            return bytes(line)
                        line += read
                        continue
                    request = request[os.write(into, request) :]
                except BrokenPipeError:
                    request = b""
                if not request:
                    wait.unregister(into)
    return bytes(line)
