"""The reward's side of the sandbox.

``boot`` runs once: it loads the reward, tells the host where ``serve`` lies in
memory and leaves by ``_exit``, which ends the call of the host but not the
interpreter: its memory is as if ``_exit`` were still running. Merit takes its
snapshot then, and calls ``serve`` through the table for every evaluation.
"""

from __future__ import annotations

import gc
import posix
import sys
from marshal import dumps, loads

from . import runner, shims


class _Log:
    """Standard output and error: text that goes to the log of the evaluation."""

    encoding = "utf-8"
    errors = "replace"
    closed = False

    def write(self, text: str) -> int:
        posix.write(2, text.encode("utf-8", "replace"))
        return len(text)

    def writelines(self, lines) -> None:  # type: ignore[no-untyped-def]
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        pass

    def isatty(self) -> bool:
        return False

    def fileno(self) -> int:
        return 2


_reward: runner.Reward


def serve() -> None:
    """Answers one request: its size in four bytes, and the members.

    The answer is a result for each member, or a text that says what went wrong.
    """
    try:
        size = int.from_bytes(posix.read(0, 4), "little")
        members = [runner.rollout(m) for m in loads(posix.read(0, size))]
        answer = dumps(_reward.evaluate(members), 2)
    except BaseException as e:
        answer = dumps(runner.explain(e), 2)
    posix.write(1, answer)


def boot(path: str, name: str) -> None:
    """Loads the reward and tells the host what it is, or why it cannot be loaded."""
    global _reward
    sys.stdout = sys.stderr = _Log()  # type: ignore[assignment]
    shims.install()
    try:
        _reward = runner.find(runner.load(path, name))
        about = getattr(sys.modules[name], "__merit__", {})
        about = {str(k): str(v) for k, v in about.items()}
        runner.explain(_warm())  # loads what tracebacks need
        hello = ("", id(serve), id(()), _reward.group, _reward.whole, about)
    except BaseException as e:
        hello = (runner.explain(e), 0, 0, False, False, {})
    gc.collect()
    gc.freeze()
    posix.write(1, dumps(hello, 2))
    posix._exit(0)


def _warm() -> BaseException:
    try:
        raise ValueError("warm-up")
    except ValueError as e:
        return e
