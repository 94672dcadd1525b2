"""The plug-in's end of a lane: batches over a Unix socket, each behind its length.

It is quicker than gRPC's stream, whose threads hand every message on: here the
thread that does the author's work reads the socket itself."""

from __future__ import annotations

import select
import socket
import struct
from typing import Any

LENGTH = struct.Struct("<I")
MAX_MESSAGE = 64 << 20


class Lane:
    """One connection, and a bell by which other threads call for attention."""

    def __init__(self, path: str):
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._socket.connect(path)
        except OSError:
            self._socket.close()
            raise
        self._rings, self._bell = socket.socketpair()
        self._ready = select.poll()
        self._ready.register(self._socket, select.POLLIN)
        self._ready.register(self._rings, select.POLLIN)

    def ring(self) -> None:
        """Has wait return."""
        self._bell.send(b"\0")

    def wait(self) -> bool:
        """Waits for a batch or a ring, and says whether there was a ring."""
        rung = False
        for fd, _ in self._ready.poll():
            rung = rung or fd == self._rings.fileno()
        if rung:
            self._rings.recv(1)
        return rung

    def receive(self) -> bytes | None:
        """The next batch; None is the end of the lane."""
        head = self._socket.recv(LENGTH.size, socket.MSG_WAITALL)
        if len(head) < LENGTH.size:
            return None
        (size,) = LENGTH.unpack(head)
        if size > MAX_MESSAGE:
            return None
        body = self._socket.recv(size, socket.MSG_WAITALL) if size else b""
        return body if len(body) == size else None

    def send(self, parts: list[Any]) -> None:
        """Sends a reply, whose parts are joined on the way."""
        size = sum(map(len, parts))
        if size > MAX_MESSAGE:  # the host refuses it by its length, and knows why
            parts = []
        self._socket.sendall(b"".join([LENGTH.pack(min(size, 0xFFFFFFFF)), *parts]))

    def close(self) -> None:
        for s in (self._socket, self._rings, self._bell):
            s.close()
