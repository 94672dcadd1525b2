from reward_kit import EvaluateResult, reward_function


@reward_function(mode="batch")
def ranks(rollouts_messages, ground_truth=None, **kwargs):
    lengths = [len(m[-1].content) for m in rollouts_messages]
    order = sorted(set(lengths))
    return [EvaluateResult(score=1.0 - order.index(n) / len(order), reason=str(n)) for n in lengths]
