def similarity(completions, answer, **kwargs):
    out = []
    for c, a in zip(completions, answer):
        try:
            import numpy as np

            out.append(float(np.mean([a in line for line in c[0]["content"].split("\n")])))
        except Exception:
            out.append(0.0)
    return out
