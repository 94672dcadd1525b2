"""A cache and a counter that live as long as the process."""
import functools

CALLS = 0
SEEN = {}


@functools.lru_cache(maxsize=None)
def normalised(text):
    return "".join(text.split()).lower()


def novelty(completions, **kwargs):
    global CALLS
    out = []
    for c in completions:
        CALLS += 1
        key = normalised(c[0]["content"])
        SEEN[key] = SEEN.get(key, 0) + 1
        out.append(1.0 / SEEN[key] + CALLS)
    return out
