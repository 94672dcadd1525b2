import collections, math
from functools import lru_cache

def ngrams(tokens, n): return collections.Counter(tuple(tokens[i:i+n]) for i in range(len(tokens)-n+1))

def lcs(a, b):
    dp = [[0]*(len(b)+1) for _ in range(len(a)+1)]
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            dp[i+1][j+1] = dp[i][j]+1 if x == y else max(dp[i][j+1], dp[i+1][j])
    return dp[-1][-1]

def rouge_l(hyp, ref, beta=1.2):
    h, r = hyp.split(), ref.split()
    l = lcs(h, r)
    if not l: return 0.0
    p, q = l/len(h), l/len(r)
    return (1+beta**2)*p*q/(q+beta**2*p)

def bleu(hyp, ref, max_n=4):
    h, r = hyp.split(), ref.split()
    logs = 0.0
    for n in range(1, max_n+1):
        hn, rn = ngrams(h, n), ngrams(r, n)
        overlap = sum((hn & rn).values())
        total = max(sum(hn.values()), 1)
        logs += math.log((overlap + 1) / (total + 1)) / max_n
    bp = 1.0 if len(h) > len(r) else math.exp(1 - len(r)/max(len(h), 1))
    return bp * math.exp(logs)

def rouge_reward(completions, reference, **kwargs):
    return [rouge_l(c, r) for c, r in zip(completions, reference)]

def bleu_reward(completions, reference, **kwargs):
    return [round(bleu(c, r), 10) for c, r in zip(completions, reference)]
