from swift.rewards import AsyncORM, orms


class Remote(AsyncORM):
    async def __call__(self, completions, solution, **kwargs):
        return [1.0 if s.strip("$") in c else 0.0 for c, s in zip(completions, solution)]


orms["remote"] = Remote
