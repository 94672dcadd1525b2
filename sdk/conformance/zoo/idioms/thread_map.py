from concurrent.futures import ThreadPoolExecutor, as_completed


def one(pair):
    text, truth = pair
    return float(truth in text) + len(text) / 1000


def parallel(completions, answer, **kwargs):
    pairs = [(c[0]["content"], a) for c, a in zip(completions, answer)]
    with ThreadPoolExecutor(8) as pool:
        mapped = list(pool.map(one, pairs))
        futures = {pool.submit(one, p): i for i, p in enumerate(pairs)}
        results = [0.0] * len(pairs)
        for future in as_completed(futures, timeout=10):
            results[futures[future]] = future.result()
    return [a + b for a, b in zip(mapped, results)]
