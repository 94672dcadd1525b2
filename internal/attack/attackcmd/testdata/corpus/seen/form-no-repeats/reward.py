def get_repetition_penalty(completions, ngram_size=3, max_penalty=-1.0, **kwargs):
    """0 for a text without repeated n-grams, down to -1."""
    rewards = []
    for completion in completions:
        words = completion.lower().split()
        if len(words) < ngram_size:
            rewards.append(0.0)
            continue
        grams = [tuple(words[i:i + ngram_size]) for i in range(len(words) - ngram_size + 1)]
        scaling = 1 - len(set(grams)) / len(grams)
        rewards.append(scaling * max_penalty)
    return rewards
