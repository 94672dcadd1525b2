"""Streams over TLS, with a certificate of the test's own in MERIT_TEST_TLS."""

import os
import socket
import ssl
import sys
import threading
import unittest
from unittest import mock

sys.path.insert(0, os.path.join(os.path.dirname(__file__), os.pardir, "tests"))
from fake_server import Peer  # noqa: E402

from merit_rl import Reward, Unavailable  # noqa: E402


class TLS(unittest.TestCase):
    def setUp(self):
        folder = os.environ["MERIT_TEST_TLS"]
        self.certificate = os.path.join(folder, "cert.pem")
        self.context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self.context.load_cert_chain(self.certificate, os.path.join(folder, "key.pem"))
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(self.listener.close)
        self.address = f"https://localhost:{self.listener.getsockname()[1]}"

    def serve(self, times):
        def accept():
            for _ in range(times):
                sock, _ = self.listener.accept()
                try:
                    with self.context.wrap_socket(sock, server_side=True) as s:
                        peer = Peer(s)
                        peer.evaluate()
                        peer.file.close()
                except OSError:
                    sock.close()

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        self.addCleanup(thread.join, 5)

    # Promise: sending and receiving go on at one time over TLS, too.
    def test_stream(self):
        self.serve(1)
        rows = ({"id": f"t-{i}", "messages": [{"role": "user", "content": "x" * 5000}]} for i in range(2000))
        with mock.patch.dict(os.environ, SSL_CERT_FILE=self.certificate):
            got = Reward("gsm8k", server=self.address).evaluate(rows)
        self.assertEqual([r.score for r in got], [float(i) for i in range(2000)])

    # Promise: a server without a certificate that counts gets nothing.
    def test_not_trusted(self):
        self.serve(5)
        with self.assertRaisesRegex(Unavailable, "certificate verify failed"):
            Reward("gsm8k", server=self.address).evaluate([{"messages": []}])


if __name__ == "__main__":
    unittest.main()
