def reward_func(queries, prompts, labels, **kwargs):
    """queries is prompts + responses; labels is answers."""
    rewards = []
    for query, prompt, label in zip(queries, prompts, labels):
        response = query[len(prompt):]
        rewards.append(1.0 if str(label) in response else 0.0)
    return rewards
