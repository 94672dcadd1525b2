"""Writes estimates.jsonl: pass@k as the published estimator computes it.

The estimator is that of human-eval (https://github.com/openai/human-eval, commit
6d43fb980f9fee3c892a914eda09951f772ad10d, human_eval/evaluation.py), called as it is published:

    git clone https://github.com/openai/human-eval
    PYTHONPATH=human-eval python3 estimates.py > estimates.jsonl
"""

import json

from human_eval.evaluation import estimate_pass_at_k

for n in [1, 2, 3, 4, 6, 8, 10, 16, 25, 100, 200]:
    for c in sorted({0, 1, 2, n // 3, n // 2, n - 1, n} & set(range(n + 1))):
        for k in sorted({1, 2, 3, 4, 8, 10, 100, n}):
            if k <= n:
                print(json.dumps({"n": n, "c": c, "k": k, "pass": float(estimate_pass_at_k([n], [c], k)[0])}))
