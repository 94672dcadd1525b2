"""Scores that are numbers to Python and no floats: a dataclass with a Fraction, as verl's managers take it by float()."""
from decimal import Decimal
from fractions import Fraction


def compute_score(data_source, solution_str, ground_truth, extra_info=None):
    found = [w for w in solution_str.replace("$", " ").split() if w == str(ground_truth)]
    return {"score": Fraction(len(found), 3), "words": Decimal(len(solution_str.split())) / 10}
