class LengthReward:
    """An instance with __call__, as people keep settings."""

    def __init__(self, target: int = 100, weight: float = 0.5):
        self.target, self.weight = target, weight
        self.__name__ = "length_reward"

    def __call__(self, prompts, completions, **kwargs):
        return [self.weight * min(1.0, len(c[0]["content"]) / self.target) for c in completions]


length_reward = LengthReward(target=200)
