def last(completion):
    return completion[-1]["content"] if isinstance(completion, list) else completion


def exact_answer(completion, answer) -> float:
    return 1.0 if answer in (last(completion) or "") else 0.0


async def few_turns(completion, state, info, **kwargs) -> float:
    turns = sum(m["role"] == "assistant" for m in completion)
    return 1.0 / max(1, turns - info.get("hops", 0) + 1)


def by_task(completion, task, answer, prompt, parser=None, **kwargs) -> float:
    base = {"nq": 1.0, "tools": 0.5}.get(task, 0.1)
    return base * len(prompt) + (0.25 if answer == "Lima" else 0.0)
