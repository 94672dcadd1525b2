"""The helpers have the usual names of rewards; the reward has not."""


def score(text, truth):
    return 1.0 if truth in text else 0.0


def reward(text):
    return text.count("\n") / 10


def answer_reward(completions, answer, **kw):
    return [score(c[0]["content"], a) + reward(c[0]["content"]) for c, a in zip(completions, answer)]
