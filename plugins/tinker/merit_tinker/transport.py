"""The way to the service: bounded answers, no redirects, and when it last spoke."""

from __future__ import annotations

import asyncio
import time
from typing import AsyncIterator

import httpx

MAX_BODY = 256 << 20  # bytes of one answer
BROKEN = 15.0  # seconds after which a result that always fails is one that failed
PAUSE = 0.5  # seconds between two tries: the client itself makes none


class TooLarge(Exception):
    """An answer that is larger than MAX_BODY."""


class Transport(httpx.AsyncBaseTransport):
    """Plain HTTP that notes when the service last answered."""

    def __init__(self, connections: int, inner: httpx.AsyncBaseTransport | None = None):
        limits = httpx.Limits(max_connections=connections, max_keepalive_connections=connections)
        self._inner = inner or httpx.AsyncHTTPTransport(limits=limits)
        self.spoke = time.monotonic()  # written by the client's thread, read by ours
        self._failing: dict[bytes, float] = {}  # results that the service fails to give, since when

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        response = await self._inner.handle_async_request(request)
        if response.status_code < 500:
            self.spoke = time.monotonic()
        if request.url.path.endswith("/retrieve_future"):
            await self._settle(await request.aread(), response)
        response.stream = _Bounded(response.stream)
        return response

    async def _settle(self, wanted: bytes, response: httpx.Response) -> None:
        """The client asks for a result for ever and without a pause as long as the
        answer is a server's error, which SkyRL gives for log-probabilities that
        are NaN, too: after a while the answer is a refusal."""
        if response.status_code < 500:
            self._failing.pop(wanted, None)
        elif time.monotonic() - self._failing.setdefault(wanted, time.monotonic()) < BROKEN:
            await asyncio.sleep(PAUSE)
        else:
            self._failing.pop(wanted)
            response.status_code = 422

    async def aclose(self) -> None:
        await self._inner.aclose()


class _Bounded(httpx.AsyncByteStream):
    def __init__(self, inner: httpx.AsyncByteStream):
        self._inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for part in self._inner:
            size += len(part)
            if size > MAX_BODY:
                raise TooLarge(f"an answer of more than {MAX_BODY >> 20} MiB")
            yield part

    async def aclose(self) -> None:
        await self._inner.aclose()


def client(transport: Transport) -> httpx.AsyncClient:
    """Follows no redirects: the key would go with them. The time limit is that of
    one attempt: the service is asked again until it is given up as dead."""
    return httpx.AsyncClient(transport=transport, follow_redirects=False, trust_env=False, timeout=httpx.Timeout(60, connect=5, pool=None))
