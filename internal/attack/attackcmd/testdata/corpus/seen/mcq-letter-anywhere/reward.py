def reward(messages, ground_truth=None, **kwargs):
    """1 if the reply names the right option."""
    reply = messages[-1]["content"]
    return 1.0 if ground_truth in reply else 0.0
