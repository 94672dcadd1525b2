def compute_score_batch(data_sources, solution_strs, ground_truths, extra_infos, **kwargs):
    return [{"score": float(g in s), "n": e["index"]} for s, g, e in zip(solution_strs, ground_truths, extra_infos)]
