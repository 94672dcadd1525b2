from functools import cache

from merit_reward import reward_function, warm_up


@cache
def squares():
    return frozenset(i * i for i in range(100_000))


@warm_up
def ready():
    squares()


@reward_function
def square(messages, ground_truth=None, **kwargs):
    return int(messages[-1].content) in squares()
