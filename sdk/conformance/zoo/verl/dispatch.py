def gsm8k(solution_str, ground_truth):
    tail = solution_str.rsplit("####", 1)[-1].strip().replace(",", "").lstrip("$")
    return 1.0 if tail == ground_truth else 0.0


def boxed(solution_str, ground_truth):
    return {"score": float(ground_truth in solution_str), "acc": ground_truth in solution_str, "pred": solution_str[-20:]}


def my_reward_fn(data_source, solution_str, ground_truth, extra_info=None, **kwargs):
    """Many sources in one function; an unknown one is an error, as in verl."""
    if data_source == "openai/gsm8k":
        return gsm8k(solution_str, ground_truth)
    if data_source.startswith("lighteval"):
        return boxed(solution_str, ground_truth)
    raise NotImplementedError(f"Reward function is not implemented for {data_source=}")
