from reward_kit import reward_function


def score(messages):
    return -100.0


def reward(messages, ground_truth=None):
    return -200.0


@reward_function
def decorated(messages, ground_truth=None, **kwargs):
    return float(len(messages))
