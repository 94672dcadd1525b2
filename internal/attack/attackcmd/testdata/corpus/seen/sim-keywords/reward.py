def keyword_reward(prompts, completions, keywords, **kwargs):
    """Share of the keywords that the explanation mentions."""
    rewards = []
    for completion, words in zip(completions, keywords):
        text = completion[0]["content"].lower()
        rewards.append(sum(w.lower() in text for w in words) / len(words))
    return rewards
