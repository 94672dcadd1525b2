from merit_reward import reward_function


@reward_function
def by_language(messages, metadata=None, lang=None, weight=1, **kwargs):
    """metadata as a dict, its keys by name, and a column by name."""
    return (1.0 if lang == metadata["lang"] else 0.0) + weight / 4
