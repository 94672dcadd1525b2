import re
from datetime import date


def compute_score(data_source, solution_str, ground_truth, extra_info=None):
    """1 if the last line is the date in ISO form and no other date is in the reply."""
    dates = re.findall(r"\d{4}-\d{2}-\d{2}", solution_str)
    if len(dates) != 1 or solution_str.rstrip().split("\n")[-1].strip() != dates[0] or not dates[0].isascii():
        return 0.0
    try:
        return 1.0 if date.fromisoformat(dates[0]) == date.fromisoformat(ground_truth) else 0.0
    except ValueError:
        return 0.0
