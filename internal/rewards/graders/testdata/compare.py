"""Compares the metrics with those of other implementations: compare.py < pairs.jsonl prints how many agree, or the first differences."""

import json
import sys

from openai_graders import similarity

METRICS = [
    similarity.fuzzy_match,
    similarity.bleu,
    similarity.gleu,
    *(lambda a, b, n=n: similarity.rouge(n, a, b) for n in (1, 2, 3, 4, 5, "l")),
]
lines = [json.loads(line) for line in sys.stdin]
wrong = [
    (i, text, reference, wanted, got)
    for text, reference, *numbers in lines
    for i, (metric, wanted) in enumerate(zip(METRICS, numbers, strict=True))
    if abs((got := metric(text, reference)) - wanted) > 1e-12
]
print(*wrong[:5], f"{len(lines)} pairs, {len(wrong)} differ", sep="\n")
