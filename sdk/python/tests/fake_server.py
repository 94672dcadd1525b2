"""A server that does what a test says, one function a connection."""

import contextlib
import json
import os
import shutil
import socket
import tempfile
import threading


class Peer:
    """One connection, seen from the server."""

    def __init__(self, sock):
        self.sock, self.file = sock, sock.makefile("rb")

    def request(self):
        """The next request's method, target and headers."""
        method, target, _ = self.file.readline().decode().split()
        headers = {}
        while True:
            line = self.file.readline().decode().strip()
            if not line:
                return method, target, headers
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()

    def body(self, headers):
        """The whole of a body with a length."""
        return self.file.read(int(headers.get("content-length", 0)))

    def lines(self):
        """The JSON of each line of a body in chunks."""
        rest = b""
        while True:
            size = int(self.file.readline(), 16)
            rest += self.file.read(size)
            self.file.readline()
            *whole, rest = rest.split(b"\n")
            yield from map(json.loads, whole)
            if size == 0:
                return

    def answer(self, status, body=b"", **headers):
        """A whole answer."""
        if not isinstance(body, bytes):
            body = json.dumps(body).encode()
        said = "".join(f"{k.replace('_', '-')}: {v}\r\n" for k, v in headers.items())
        self.sock.sendall(f"HTTP/1.1 {status} Said\r\nContent-Length: {len(body)}\r\n{said}\r\n".encode() + body)

    def begin(self):
        """Begin an answer in chunks."""
        self.sock.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")

    def chunk(self, data):
        """A chunk of it; an empty one ends it."""
        self.sock.sendall(b"%x\r\n%b\r\n" % (len(data), data))

    def result(self, line, score=1.0, **more):
        """The result of a trajectory."""
        said = {
            "id": line["id"],
            "outcome": "scored",
            "score": score,
            "step_outputs": [],
            "metrics": {},
            "reason": "",
            "fuel": 7,
        }
        self.chunk(json.dumps({**said, **more}).encode() + b"\n")

    def evaluate(self):
        """Answer one request for results, each with the number in the id as its score."""
        method, target, _ = self.request()
        self.begin()
        for line in self.lines():
            self.result(line, float(line["id"].rpartition("-")[2]))
        self.chunk(b"")
        return method, target


class Fake:
    """Serves ``scripts``, one a connection in turn; more connections are refused."""

    def __init__(self, *scripts):
        self.folder = tempfile.mkdtemp()
        self.address = "unix:" + os.path.join(self.folder, "s")
        self.errors = []
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(os.path.join(self.folder, "s"))
        self._listener.listen()
        self._thread = threading.Thread(target=self._serve, args=(scripts,), daemon=True)

    def _serve(self, scripts):
        for script in scripts:
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return  # the test is over
            with sock:
                peer = Peer(sock)
                try:
                    script(peer)
                except Exception as e:  # a test looks at it
                    self.errors.append(e)
                peer.file.close()
        os.unlink(os.path.join(self.folder, "s"))

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        with contextlib.suppress(OSError):
            socket.socket.shutdown(self._listener, socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(5)
        shutil.rmtree(self.folder)
