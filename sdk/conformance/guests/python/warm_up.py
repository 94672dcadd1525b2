"""Counts its calls: 10 for the warm-up, 1 for an evaluation. Every score is 11."""

from merit_reward import reward_function, warm_up

calls = 0


@warm_up
def ready():
    global calls
    calls += 10


@reward_function
def reward(messages):
    global calls
    calls += 1
    return calls
