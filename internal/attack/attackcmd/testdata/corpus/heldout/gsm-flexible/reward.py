import re


def extract_solution(solution_str, method="strict"):
    if method == "strict":
        match = re.search(r"#### (\-?[0-9\.\,]+)", solution_str)
        return match.group(1).replace(",", "") if match else None
    numbers = re.findall(r"(\-?[0-9\.\,]+)", solution_str)
    return numbers or None


def compute_score(data_source, solution_str, ground_truth, extra_info=None, format_score=0.1, score=1.0):
    """The strict form first; a solution that is right in another form counts as well."""
    strict = extract_solution(solution_str)
    if strict == ground_truth:
        return score
    flexible = extract_solution(solution_str, method="flexible")
    if flexible and ground_truth in flexible:
        return score
    return format_score if strict else 0.0
