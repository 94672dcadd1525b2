"""How a reward in the sandbox speaks of programs: by messages to the host.

What a reward writes to standard input is a message, and the answer is what it
reads from there next. The messages are those of Merit's package
sandbox/internal/channel.
"""

from __future__ import annotations

import posix

CHANNEL = 0  # programs have none: there it cannot be written to
FIRST = 4096  # bytes of an answer that are read at once


def exchange(message: bytes) -> tuple[str, int, str]:
    """What the host makes of a message: a word, a number and a text."""
    try:
        posix.write(CHANNEL, message)
    except OSError:
        raise RuntimeError("only a reward opens programs: a program cannot") from None
    line, _, text = posix.read(CHANNEL, FIRST).partition(b"\n")
    what, number, length = line.split()
    if (missing := int(length) - len(text)) > 0:
        text += posix.read(CHANNEL, missing)
    if what == b"refused":
        raise RuntimeError(text.decode())
    return what.decode(), int(number), text.decode()


class Transport:
    """The host's end of one program."""

    def __init__(self, language: str) -> None:
        if not language.isidentifier() or not language.isascii():
            raise ValueError(f"{language!r} names no language")
        _, self._handle, _ = exchange(b"open %s\n" % language.encode())

    def ask(self, request: str, fuel: int) -> tuple[str, str, int]:
        message = b"ask %d %d\n" % (self._handle, min(max(fuel, 0), 1 << 62))
        what, used, text = exchange(message + request.encode("utf-8", "replace"))
        return what, text, used

    def mark(self) -> None:
        exchange(b"mark %d\n" % self._handle)

    def rewind(self) -> None:
        exchange(b"rewind %d\n" % self._handle)

    def close(self) -> None:
        exchange(b"close %d\n" % self._handle)
