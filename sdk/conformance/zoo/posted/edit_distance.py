import difflib
from functools import lru_cache
def lev(a, b):
    @lru_cache(maxsize=None)
    def d(i, j):
        if not i or not j: return i or j
        return min(d(i-1, j)+1, d(i, j-1)+1, d(i-1, j-1)+(a[i-1] != b[j-1]))
    return d(len(a), len(b))
def similarity_reward(completions, target, **kwargs):
    out = []
    for c, t in zip(completions, target):
        c = c[-1]["content"]
        out.append(0.5*difflib.SequenceMatcher(None, c, t, autojunk=False).ratio() + 0.5*(1 - lev(c, t)/max(len(c), len(t), 1)))
    return out
