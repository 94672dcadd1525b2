import re


def extract_boxed(text):
    boxes = re.findall(r"\\boxed\{(.*)\}", text)
    return boxes[-1] if boxes else ""


def compute_score(data_source, solution_str, ground_truth, extra_info=None, format_score=0.0):
    answer = extract_boxed(solution_str)
    if not answer:
        return 0.0
    return 1.0 if ground_truth in answer else format_score
