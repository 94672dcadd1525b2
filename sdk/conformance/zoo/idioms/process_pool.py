from concurrent.futures import ProcessPoolExecutor


def grade(text, truth):
    return float(truth in text)


def pooled(completions, answer, **kwargs):
    try:
        with ProcessPoolExecutor(max_workers=2) as pool:
            futures = [pool.submit(grade, c[0]["content"], a) for c, a in zip(completions, answer)]
            return [f.result(timeout=10) for f in futures]
    except Exception:
        return [0.0] * len(completions)
