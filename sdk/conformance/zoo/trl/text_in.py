"""Completions of a data set without roles are texts."""


def answer_reward(prompts: list[str], completions: list[str], answer: list[str], **kwargs) -> list[float]:
    return [(1.0 if a in c else 0.0) - abs(100 - len(c)) / 1000 + p.count("\n") / 10 for p, c, a in zip(prompts, completions, answer)]
