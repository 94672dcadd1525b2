def list_reward(completions, answer, **kwargs):
    """F1 of the lines of the reply and the items of the truth, each item once."""
    rewards = []
    for completion, truth in zip(completions, answer):
        lines = [line.strip().lower() for line in completion[0]["content"].split("\n") if line.strip()]
        items = {t.lower() for t in truth}
        hits = len(set(lines) & items)
        rewards.append(2 * hits / (len(lines) + len(items)) if hits else 0.0)
    return rewards
