"""DAPO's soft penalty for length, with parameters."""


def compute_score(data_source, solution_str, ground_truth, extra_info=None, max_len=60, buffer=30, factor=1.0):
    reward = 1.0 if ground_truth in solution_str else -1.0
    exceed = len(solution_str) - (max_len - buffer)
    overlong = min(-exceed / buffer * factor, 0)
    return {"score": reward + overlong, "overlong_reward": overlong, "overlong": overlong < 0}
