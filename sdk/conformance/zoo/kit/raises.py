from reward_kit import reward_function


@reward_function
def brittle(messages, ground_truth=None, **kwargs):
    return ground_truth["name"] == "book" and 1.0
