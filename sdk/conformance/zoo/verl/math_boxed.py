def last_boxed_only_string(string):
    idx = string.rfind("\\boxed")
    if idx < 0:
        return None
    i, depth, right = idx, 0, None
    while i < len(string):
        if string[i] == "{":
            depth += 1
        if string[i] == "}":
            depth -= 1
            if depth == 0:
                right = i
                break
        i += 1
    return None if right is None else string[idx : right + 1]


def compute_score(data_source, solution_str, ground_truth, extra_info=None) -> float:
    retval = 0.0
    try:
        boxed = last_boxed_only_string(solution_str)
        if boxed is not None and boxed[len("\\boxed{") : -1].replace(" ", "") == ground_truth:
            retval = 1.0
    except Exception as e:
        print(e)
    return retval
