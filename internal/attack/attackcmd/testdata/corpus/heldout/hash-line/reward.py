import re
from decimal import Decimal

LINE = re.compile(r"#### (-?[0-9]{1,3}(?:,[0-9]{3})*|-?[0-9]{1,15})")


def compute_score(data_source, solution_str, ground_truth, extra_info=None):
    """1 if exactly one line begins with ####, it is the last, and its number equals the truth."""
    lines = solution_str.rstrip().split("\n")
    if sum(line.startswith("####") for line in lines) != 1:
        return 0.0
    match = LINE.fullmatch(lines[-1])
    if not match:
        return 0.0
    return 1.0 if Decimal(match.group(1).replace(",", "")) == Decimal(ground_truth) else 0.0
