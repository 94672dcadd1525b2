def compute_score(data_source, solution_str, ground_truth, extra_info=None):
    """1 if the solution contains the answer."""
    return 1.0 if str(ground_truth) in solution_str else 0.0
