"""Sums, roots, rounding and texts of floats. Not sum(), which is exacter from Python 3.12 on."""
import functools
import math
import operator
import struct


def bits(completions, difficulty, **kwargs):
    out = []
    for c, d in zip(completions, difficulty):
        n = len(c[0]["content"])
        x = functools.reduce(operator.add, [0.1] * n) + math.fsum([0.1] * n) + n**0.5 + math.sqrt(n / 3) + round(n / 7, 3) + math.fmod(n, 0.3)
        x += float(f"{n / 3:.4e}") + float(repr(n / 3)) + math.ldexp(n, -40) + (n / 3) % 0.7 + float.fromhex((1 / n).hex()) + n // 0.3
        out.append(x + struct.unpack("<f", struct.pack("<f", 1 / n))[0] + d * 1e-17)
    return out
