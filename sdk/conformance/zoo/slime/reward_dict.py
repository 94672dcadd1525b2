async def reward_func(args, sample, **kwargs):
    """A dict for --reward-key score."""
    response, label = sample.response, str(sample.label)
    acc = label in response
    return {"score": 1.0 if acc else -1.0, "acc": acc, "prompt_chars": len(sample.prompt)}
