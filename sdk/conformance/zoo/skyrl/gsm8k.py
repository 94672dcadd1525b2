"""The grader beside an environment of SkyRL-gym: step() calls it with the action and the truth of reward_spec."""
import re


def compute_score(solution_str, ground_truth, format_score=0.0, score=1.0):
    found = re.findall(r"#### (-?[0-9.,]+)", solution_str)
    if not found:
        return 0.0
    return score if found[-1].replace(",", "") == ground_truth else format_score
