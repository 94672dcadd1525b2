def compute_score(data_source, solution_str, ground_truth, extra_info):
    correct = solution_str.strip().endswith(ground_truth)
    index = extra_info["index"]
    return {"score": 1.0 if correct else -1.0, "acc": correct, "pred": solution_str.split()[-1], "index": index, "split": extra_info["split"]}
