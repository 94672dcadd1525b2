"""Where the last bits show: logarithms, powers, sums of many."""
import cmath
import math


def bits(completions, difficulty, **kwargs):
    out = []
    for c, d in zip(completions, difficulty):
        n = len(c[0]["content"])
        x = math.log1p(n) * math.sin(n) + math.exp(-n / 97) ** 0.3 + math.tanh(d) + math.gamma(d + 0.5) + math.erf(n / 300)
        out.append(x + sum(0.1 for _ in range(n)) + math.fsum([0.1] * n) + abs(cmath.exp(complex(0.1 * d, n))) + math.atan2(n, d) + n ** 0.5 + math.hypot(n, d, 3) + math.pow(n, 1 / 3) + math.lgamma(n))
    return out
