"""The process of a plug-in: go-plugin's handshake, its standard streams, its end."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
from typing import Any, Callable, Iterator

COOKIE = ("MERIT_PLUGIN", "environment")
SIZES = [("grpc.max_receive_message_length", 64 << 20), ("grpc.max_send_message_length", 64 << 20)]
MISUSE, ORPHAN = 2, 3  # exit statuses
GRACE = 1.5  # seconds for close: the host kills after two
HEALTHY = b"\x08\x01"  # status: SERVING

# The first line of standard output is the handshake, and nobody reads the
# others. So whatever prints, even while the author's modules are imported,
# prints to standard error.
_handshake: int | None = None
if os.environ.get(COOKIE[0]) == COOKIE[1]:
    _handshake = os.dup(1)
    os.dup2(2, 1)


def serve(plugin: type, *, name: str, version: str, summary: str, options: type | None = None) -> None:
    """Offers an Environment, a Vector or a Policy to the host that started this
    process, and returns when the host is done. A class with reset and step, as in
    Gymnasium, is an environment too. Options is a dataclass whose fields all have
    defaults; without it, those of such a class are its arguments."""
    from . import _wire
    from ._plain import offered
    from .policy import Policy

    plugin, options = offered(plugin, options)
    described = _wire.description(name, version, summary, options)
    if _handshake is None:
        sys.exit(_misused(f"{name} {version} is a plug-in of Merit: {summary}\nIt is started by merit, not by hand.\n"
                          f"Its options, with their defaults: {described.options.decode()}"))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the host's
    os.environ.setdefault("GRPC_VERBOSITY", "ERROR")
    threading.Thread(target=_leave_with_parent, args=(os.getppid(),), daemon=True).start()
    if issubclass(plugin, Policy):
        asyncio.run(_serve_policy(plugin, options, described))
    else:
        _serve_environment(plugin, options, described)
    sys.stderr.flush()
    os._exit(0)  # a thread of the author's that hangs holds up nobody


def _serve_environment(environment: type, options: type, described: Any) -> None:
    """One caller and one answer at a time need no event loop: without it a round
    trip is shorter, and the author's code has the main thread."""
    from concurrent.futures import ThreadPoolExecutor

    import grpc

    from ._environments import Service

    end = threading.Event()
    service = Service(environment, options, described)

    def stop(*_: Any) -> bytes:
        end.set()
        service.wake()
        return b""

    signal.signal(signal.SIGTERM, stop)
    server = grpc.server(ThreadPoolExecutor(8), options=SIZES)
    server.add_generic_rpc_handlers((service.handler(), _plumbing(lambda *_: HEALTHY, stop)))
    with _socket() as path:
        server.add_insecure_port(f"unix:{path}")
        server.start()
        _shake(path)
        service.work(end)
        threading.Timer(GRACE, os._exit, (0,)).start()
        try:
            service.close()
        except Exception as e:
            print(f"closing: {type(e).__name__}: {e}", file=sys.stderr)
        server.stop(0.1).wait()


async def _serve_policy(policy: type, options: type, described: Any) -> None:
    import grpc.aio

    from ._service import Service

    end = asyncio.Event()

    async def healthy(_m: bytes, _context: Any) -> bytes:
        return HEALTHY

    async def stop(_m: bytes, _context: Any) -> bytes:
        end.set()
        return b""

    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, end.set)
    service = Service(policy, options, described)
    server = grpc.aio.server(options=SIZES)
    server.add_generic_rpc_handlers((service.handler(), _plumbing(healthy, stop)))
    with _socket() as path:
        server.add_insecure_port(f"unix:{path}")
        await server.start()
        _shake(path)
        await end.wait()
        try:
            await asyncio.wait_for(service.close(), GRACE)
        except Exception as e:
            print(f"closing: {type(e).__name__}: {e}", file=sys.stderr)
        await server.stop(0.1)


@contextlib.contextmanager
def _socket() -> Iterator[str]:
    """The path of the socket, in a new folder."""
    own = tempfile.mkdtemp(prefix="merit-", dir=os.environ.get("PLUGIN_UNIX_SOCKET_DIR") or None)
    try:
        yield f"{own}/socket"
    finally:
        shutil.rmtree(own, ignore_errors=True)


def _shake(path: str) -> None:
    assert _handshake is not None
    os.write(_handshake, f"1|1|unix|{path}|grpc\n".encode())


def _plumbing(healthy: Callable, stop: Callable) -> Any:
    """What go-plugin wants besides the service: that it lives, and how it ends.
    The messages are so small that they are written here."""
    import grpc

    calls = {"/grpc.health.v1.Health/Check": healthy, "/plugin.GRPCController/Shutdown": stop}

    class Handler(grpc.GenericRpcHandler):
        def service(self, call: Any) -> Any:
            return grpc.unary_unary_rpc_method_handler(calls[call.method]) if call.method in calls else None

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
