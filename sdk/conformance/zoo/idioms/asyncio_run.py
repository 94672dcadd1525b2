import asyncio


async def grade(text, truth):
    return await asyncio.wait_for(asyncio.sleep(0, float(truth in text)), 5)


def scores(completions, answer, **kwargs):
    """A loop of its own inside of a synchronous reward."""
    return [asyncio.run(grade(c[0]["content"], a)) for c, a in zip(completions, answer)]
