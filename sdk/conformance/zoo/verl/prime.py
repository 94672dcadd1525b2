"""A grader as PRIME has them: its own names, a tuple, and a grade that needs a worker's time-out."""
import re


def grade_answer(given: str, truth: str):
    given = re.sub(r"[\s$,]|\\!", "", given)
    return given == re.sub(r"[\s$,]|\\!", "", truth), given


def compute_score(model_output: str, ground_truth: str) -> tuple:
    model_output = str(model_output)
    match = re.findall(r"\\boxed\{(.*)\}", model_output) or re.findall(r"####\s*(.+)", model_output)
    if not match:
        return False, False, ""
    correct, shown = grade_answer(match[-1], str(ground_truth))
    return correct, True, shown
