"""The process of a plug-in: go-plugin's handshake, its standard streams, its end."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
from typing import Any

COOKIE = ("MERIT_PLUGIN", "environment")
MAX_MESSAGE = 64 << 20
MISUSE, ORPHAN = 2, 3  # exit statuses
GRACE = 1.5  # seconds for close: the host kills after two

# The first line of standard output is the handshake, and nobody reads the
# others. So whatever prints, even while the author's modules are imported,
# prints to standard error.
_handshake: int | None = None
if os.environ.get(COOKIE[0]) == COOKIE[1]:
    _handshake = os.dup(1)
    os.dup2(2, 1)


def serve(policy: type, *, name: str, version: str, summary: str, options: type | None = None) -> None:
    """Offers a policy to the host that started this process, and returns when the
    host is done. Options is a dataclass whose fields all have defaults."""
    from . import _wire

    described = _wire.description(name, version, summary, options or _none())
    if _handshake is None:
        sys.exit(_misused(f"{name} {version} is a plug-in of Merit: {summary}\nIt is started by merit, not by hand.\n"
                          f"Its options, with their defaults: {described.options.decode()}"))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the host's
    os.environ.setdefault("GRPC_VERBOSITY", "ERROR")
    threading.Thread(target=_leave_with_parent, args=(os.getppid(),), daemon=True).start()
    asyncio.run(_serve(policy, options or _none(), described))
    sys.stderr.flush()
    os._exit(0)  # a thread of the author's that hangs holds up nobody


async def _serve(policy: type, options: type, described: Any) -> None:
    import grpc.aio

    from ._service import Service

    end = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, end.set)
    service = Service(policy, options, described)
    sizes = [("grpc.max_receive_message_length", MAX_MESSAGE), ("grpc.max_send_message_length", MAX_MESSAGE)]
    server = grpc.aio.server(options=sizes)
    server.add_generic_rpc_handlers((service.handler(), _plumbing(end)))
    folder = os.environ.get("PLUGIN_UNIX_SOCKET_DIR")
    own = tempfile.mkdtemp(prefix="merit-", dir=folder or None)
    try:
        server.add_insecure_port(f"unix:{own}/socket")
        await server.start()
        os.write(_handshake, f"1|1|unix|{own}/socket|grpc\n".encode())
        await end.wait()
        try:
            await asyncio.wait_for(service.close(), GRACE)
        except Exception as e:
            print(f"closing: {type(e).__name__}: {e}", file=sys.stderr)
        await server.stop(0.1)
    finally:
        shutil.rmtree(own, ignore_errors=True)


def _plumbing(end: asyncio.Event) -> Any:
    """What go-plugin wants besides the service: that it lives, and how it ends.
    The messages are so small that they are written here."""
    import grpc

    class Handler(grpc.GenericRpcHandler):
        def service(self, call: Any) -> Any:
            if call.method == "/grpc.health.v1.Health/Check":
                return grpc.unary_unary_rpc_method_handler(self.healthy)
            if call.method == "/plugin.GRPCController/Shutdown":
                return grpc.unary_unary_rpc_method_handler(self.shutdown)
            return None

        async def healthy(self, _m: bytes, _context: Any) -> bytes:
            return b"\x08\x01"  # status: SERVING

        async def shutdown(self, _m: bytes, _context: Any) -> bytes:
            end.set()
            return b""

    return Handler()


def _leave_with_parent(parent: int) -> None:
    """Ends the process when its parent has changed, which is how an orphan looks
    where the kernel does not kill it with the host."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(ORPHAN)


def _misused(text: str) -> int:
    print(text, file=sys.stderr)
    return MISUSE


def _none() -> type:
    import dataclasses

    return dataclasses.make_dataclass("NoOptions", [])
