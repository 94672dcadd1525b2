"""Sessions of the PyPI package's client, each with steps of one second.

    python load.py URL SESSIONS STEPS
"""

import asyncio
import sys
import time

from openenv.core.generic_client import GenericEnvClient

URL, SESSIONS, STEPS = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
took: list[float] = []
failed: list[str] = []


async def session(opening: asyncio.Semaphore, ready: asyncio.Barrier) -> None:
    async with GenericEnvClient(base_url=URL, connect_timeout_s=120) as env:
        async with opening:
            await env.reset(seed=1)
        await ready.wait()
        for _ in range(STEPS):
            began = time.monotonic()
            try:
                await env.step({"action": "x"})
                took.append(time.monotonic() - began)
            except Exception as e:  # counted and shown
                failed.append(repr(e))


async def main() -> None:
    opening, ready = asyncio.Semaphore(64), asyncio.Barrier(SESSIONS)
    await asyncio.gather(*(session(opening, ready) for _ in range(SESSIONS)))
    took.sort()
    at = lambda share: took[min(int(share * len(took)), len(took) - 1)]
    print(
        f"sessions {SESSIONS}, steps {STEPS}: {len(took)} of {SESSIONS * STEPS} succeeded; "
        f"p50 {at(0.5):.3f} s, p95 {at(0.95):.3f} s, p99 {at(0.99):.3f} s, most {took[-1]:.3f} s; failures {failed[:1]}"
    )


asyncio.run(main())
