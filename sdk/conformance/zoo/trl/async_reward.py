import asyncio


async def check(text, truth):
    await asyncio.sleep(0.01)
    return 1.0 if truth in text else 0.0


async def async_accuracy(prompts, completions, answer, **kwargs):
    return await asyncio.gather(*(check(c[0]["content"], a) for c, a in zip(completions, answer)))
