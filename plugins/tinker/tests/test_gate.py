"""Who is under way beside whom."""

import asyncio
import unittest

from merit_tinker.gate import Gate, padded


class Gates(unittest.IsolatedAsyncioTestCase):
    async def settle(self):
        for _ in range(10):
            await asyncio.sleep(0)

    def begin(self, gate, key, log):
        end = asyncio.Event()

        async def go():
            async with gate.inside(key):
                log.append(key)
                await end.wait()

        return asyncio.create_task(go()), end

    # Promise: only one key is inside at once; all who wait with the next one come
    # in together, and nobody waits for ever.
    async def test_keys(self):
        gate, log = Gate(10), []
        first = [self.begin(gate, k, log) for k in (1, 1, 2, 1, 3, 2)]
        await self.settle()
        self.assertEqual(log, [1, 1])  # the third with key 1 does not pass the 2
        for _, end in first:
            end.set()
        await asyncio.gather(*(task for task, _ in first))
        self.assertEqual(log, [1, 1, 2, 2, 1, 3])

    # Promise: no more than the limit are inside, and who leaves makes room.
    async def test_limit(self):
        gate, log = Gate(2), []
        tasks = [self.begin(gate, 1, log) for _ in range(4)]
        await self.settle()
        self.assertEqual(len(log), 2)
        tasks[0][1].set()
        await self.settle()
        self.assertEqual(len(log), 3)
        for task, _ in tasks:
            task.cancel()
        await asyncio.gather(*(task for task, _ in tasks), return_exceptions=True)
        async with asyncio.timeout(5), gate.inside(7):
            pass

    # Promise: who is taken back, waiting or inside, holds up nobody.
    async def test_cancelled(self):
        gate, log = Gate(10), []
        inside, waiting, last = (self.begin(gate, k, log) for k in (1, 2, 1))
        await self.settle()
        waiting[0].cancel()
        await self.settle()
        self.assertEqual(log, [1, 1])
        inside[0].cancel()
        last[1].set()
        await last[0]
        async with asyncio.timeout(5), gate.inside(3):
            pass

    # Promise: lengths are padded as SkyRL 0.4 does.
    def test_padded(self):
        lengths = (1, 32, 33, 48, 49, 64, 65, 96, 97, 128, 129, 192, 193, 256, 257, 384, 1000)
        self.assertEqual([padded(n) for n in lengths], [32, 32, 48, 48, 64, 64, 96, 96, 128, 128, 192, 192, 256, 256, 384, 384, 1024])


if __name__ == "__main__":
    unittest.main()
