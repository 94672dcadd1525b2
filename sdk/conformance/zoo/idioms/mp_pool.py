from multiprocessing import Pool


def square_gap(pair):
    a, b = pair
    return (len(a) - len(b)) ** 2


def pool_reward(completions, answer, **kwargs):
    pairs = [(c[0]["content"], a) for c, a in zip(completions, answer)]
    with Pool(2) as pool:
        gaps = pool.map(square_gap, pairs)
        first = pool.apply_async(square_gap, (pairs[0],)).get(timeout=5)
        more = pool.starmap(max, [(g, 100) for g in gaps])
    assert first == gaps[0]
    return [-g / 1e4 - m / 1e6 for g, m in zip(gaps, more)]
