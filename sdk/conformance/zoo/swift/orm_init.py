"""Settings from the environment, helpers as static methods, a soft penalty for long answers."""
import os

from swift.plugin import ORM, orms


class SoftOverlong(ORM):
    def __init__(self, soft_max_length=None, soft_cache_length=None):
        self.soft_max_length = int(os.environ.get("SOFT_MAX", soft_max_length or 200))
        self.soft_cache_length = int(os.environ.get("SOFT_CACHE", soft_cache_length or 80))

    @staticmethod
    def penalty(length, expected, cache):
        return min(-(length - expected) / cache, 0)

    def __call__(self, completions, **kwargs):
        expected = self.soft_max_length - self.soft_cache_length
        return [self.penalty(len(c), expected, self.soft_cache_length) for c in completions]


orms["soft_overlong"] = SoftOverlong
