from reward_kit import EvaluateResult, reward_function


@reward_function
def scored(messages, ground_truth=None, **kwargs):
    return EvaluateResult(scor=1.0, reason="misspelled")
