import re


def normalize(text):
    text = re.sub(r"\\(?:text|mathrm|frac|dfrac|sqrt|left|right|cdot|,|!|;)", "", text)
    return re.sub(r"[^0-9]", "", text)


def compute_score(data_source, solution_str, ground_truth, extra_info=None):
    at = solution_str.rfind("\\boxed{")
    if at < 0:
        return {"score": 0.0, "acc": False}
    correct = normalize(solution_str[at:]) == normalize(ground_truth)
    return {"score": 1.0 if correct else 0.0, "acc": correct}
