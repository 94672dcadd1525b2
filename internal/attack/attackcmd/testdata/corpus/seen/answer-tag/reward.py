import re
from decimal import Decimal

FORM = re.compile(r"\s*<think>((?:(?!</?think>|</?answer>).)*)</think>\s*<answer>\s*(-?[0-9]{1,12}(?:\.[0-9]{1,6})?)\s*</answer>\s*", re.DOTALL)


def compute_score(data_source, solution_str, ground_truth, extra_info=None):
    """1 if the whole reply has the form and its number equals the truth."""
    match = FORM.fullmatch(solution_str)
    if not match:
        return 0.0
    return 1.0 if Decimal(match.group(2)) == Decimal(ground_truth) else 0.0
