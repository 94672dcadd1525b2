def hard_only(completions, answer, difficulty, log_extra=None, log_metric=None, **kwargs):
    """None leaves a row to other rewards."""
    scores = []
    for completion, truth, d in zip(completions, answer, difficulty):
        if d < 3:
            scores.append(None)
            continue
        scores.append(1.0 if truth in completion[-1]["content"] else -1.0)
    if log_extra:
        log_extra("truth", list(answer))
    if log_metric:
        log_metric("hard", sum(s is not None for s in scores) / len(scores))
    return scores
