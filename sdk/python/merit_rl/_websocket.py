"""A WebSocket of a client, for text messages: RFC 6455 without extensions."""

from __future__ import annotations

import base64
import hashlib
import os
import socket
import ssl
import struct
from typing import Mapping, Optional, Tuple
from urllib.parse import urlsplit

from .errors import Unavailable

_MAGIC = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_MOST = 1 << 26  # bytes of a message
_TEXT, _CLOSE, _PING, _PONG = 1, 8, 9, 10


class WebSocket:
    """One connection, which is for one thread at a time."""

    def __init__(self, url: str, headers: Mapping[str, str], timeout: float) -> None:
        parts = urlsplit(url)
        secure = parts.scheme in ("https", "wss")
        host, port = parts.hostname or "", parts.port or (443 if secure else 80)
        self._where = url
        try:
            self._socket: socket.socket = socket.create_connection((host, port), timeout)
            if secure:
                self._socket = ssl.create_default_context().wrap_socket(self._socket, server_hostname=host)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except OSError as e:
            raise self._gone(str(e)) from e
        self._read = self._socket.makefile("rb")
        self._greet(parts.path or "/", parts.netloc.rpartition("@")[2], headers)

    def _greet(self, path: str, host: str, headers: Mapping[str, str]) -> None:
        key = base64.b64encode(os.urandom(16))
        lines = [f"GET {path} HTTP/1.1", f"Host: {host}", "Upgrade: websocket", "Connection: Upgrade"]
        lines += ["Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: " + key.decode(), *(f"{k}: {v}" for k, v in headers.items())]
        self._socket.sendall("\r\n".join([*lines, "", ""]).encode("latin-1"))
        status = self._read.readline(8192).decode("latin-1").strip()
        accepted = ""
        while line := self._read.readline(8192).decode("latin-1").strip():
            name, _, value = line.partition(":")
            if name.lower() == "sec-websocket-accept":
                accepted = value.strip()
        want = base64.b64encode(hashlib.sha1(key + _MAGIC).digest()).decode()
        if " 101 " not in status + " " or accepted != want:
            self.close()
            raise self._gone(f"it answers {status!r} and not with a WebSocket")

    def send(self, text: str) -> None:
        """Sends a text message."""
        self._frame(_TEXT, text.encode())

    def receive(self) -> str:
        """The next text message."""
        whole = b""
        while True:
            last, kind, data = self._part()
            if kind == _PING:
                self._frame(_PONG, data)
            elif kind == _CLOSE:
                raise self._gone(data[2:].decode("utf-8", "replace") or "it closed the session")
            elif kind != _PONG:
                whole += data
                if len(whole) > _MOST:
                    raise self._gone(f"a message is longer than {_MOST} bytes")
                if last:
                    return whole.decode()

    def close(self) -> None:
        """Says goodbye, if anybody listens."""
        try:
            self._frame(_CLOSE, struct.pack("!H", 1000))
            self._socket.close()
        except OSError:
            pass

    def _frame(self, kind: int, data: bytes) -> None:
        n = len(data)
        size = struct.pack("!B", 0x80 | n) if n < 126 else struct.pack("!BH", 0xFE, n) if n < 1 << 16 else struct.pack("!BQ", 0xFF, n)
        mask = os.urandom(4)
        whole = mask * (n // 4 + 1)
        masked = (int.from_bytes(data, "big") ^ int.from_bytes(whole[:n], "big")).to_bytes(n, "big")
        try:
            self._socket.sendall(bytes([0x80 | kind]) + size + mask + masked)
        except OSError as e:
            raise self._gone(str(e)) from e

    def _part(self) -> Tuple[bool, int, bytes]:
        first, second = self._take(2)
        n = second & 0x7F
        if n > 125:
            n = int.from_bytes(self._take(2 if n == 126 else 8), "big")
        if n > _MOST:
            raise self._gone(f"a message is longer than {_MOST} bytes")
        return bool(first & 0x80), first & 0x0F, self._take(n)

    def _take(self, n: int) -> bytes:
        try:
            data = self._read.read(n)
        except OSError as e:
            raise self._gone(str(e)) from e
        if data is None or len(data) < n:
            raise self._gone("it closed the connection")
        return data

    def _gone(self, what: str) -> Unavailable:
        return Unavailable(f"the environment's server has failed: {what}", where=self._where, hint=_HINT)


_HINT: Optional[str] = "see its log; the episode has no reward"
