"""A host of one plug-in, as far as the tests need one."""

import os
import queue
import subprocess
import sys
import tempfile
import threading

import grpc

from merit_plugin._proto import environment_pb2, fault_pb2, policy_pb2  # noqa: F401

SERVICE = "/merit.plugin.v1.Policy/"


class Host:
    def __init__(self, *command, **env):
        self.folder = tempfile.TemporaryDirectory(prefix="merit-host-")
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**os.environ, "MERIT_PLUGIN": "environment", "PLUGIN_UNIX_SOCKET_DIR": self.folder.name, **env},
        )
        self.handshake = self.process.stdout.readline().strip()
        address = self.handshake.split("|")[3] if "|" in self.handshake else "none"
        self.channel = grpc.insecure_channel(f"unix:{address}", options=[("grpc.max_receive_message_length", 64 << 20)])

    def call(self, name, request, reply, timeout=120):
        return self.channel.unary_unary(SERVICE + name, lambda m: m.SerializeToString(), reply.FromString)(request, timeout=timeout)

    def learn(self, *parts, timeout=120):
        call = self.channel.stream_unary(SERVICE + "Learn", lambda m: m.SerializeToString(), policy_pb2.LearnReply.FromString)
        return call(iter(parts), timeout=timeout)

    def raw(self, path):
        return self.channel.unary_unary(path)(b"", timeout=120)

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.said = self.process.communicate()[1]
        self.channel.close()
        self.folder.cleanup()


class Stream:
    """An open Act stream."""

    def __init__(self, host):
        self.out = queue.Queue()
        call = host.channel.stream_stream(SERVICE + "Act", lambda m: m.SerializeToString(), policy_pb2.ActReply.FromString)
        self.replies = call(iter(self.out.get, None))

    def send(self, **fields):
        self.out.put(policy_pb2.ActRequest(**fields))

    def take(self, count):
        """The next replies by id; their order is free."""
        taken = {}
        for _ in range(count):
            reply = next(self.replies)
            assert reply.id not in taken, reply.id
            taken[reply.id] = reply
        return taken

    def end(self):
        self.out.put(None)


def watchdog(seconds):
    """Ends a test run that hangs."""
    timer = threading.Timer(seconds, lambda: (print("the tests hang", file=sys.stderr), os._exit(1)))
    timer.daemon = True
    timer.start()
