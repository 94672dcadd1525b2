from concurrent.futures import ThreadPoolExecutor, TimeoutError


def check(text, truth):
    return truth in text


def timed(completions, answer, **kwargs):
    out = []
    for c, a in zip(completions, answer):
        try:
            with ThreadPoolExecutor(max_workers=1) as pool:
                out.append(1.0 if pool.submit(check, c[0]["content"], a).result(timeout=5) else 0.0)
        except Exception:
            out.append(0.0)
    return out
