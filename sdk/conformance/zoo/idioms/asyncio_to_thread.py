import asyncio


def slow(text, truth):
    return float(truth in text)


async def graded(completions, answer, **kwargs):
    async with asyncio.timeout(10):
        tasks = [asyncio.to_thread(slow, c[0]["content"], a) for c, a in zip(completions, answer)]
        return await asyncio.gather(*tasks)
