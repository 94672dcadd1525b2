import re


def run(program):
    """Returns the exit code of a program, as subprocess would."""
    try:
        exec(compile(program, "solution.py", "exec"), {"__name__": "__main__"})
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 0 if stop.code is None else 1
    except BaseException:
        return 1
    return 0


def compute_score(data_source, solution_str, ground_truth, extra_info=None):
    """1 if the solution followed by its tests exits with 0."""
    blocks = re.findall(r"```(?:python)?\n(.*?)```", solution_str, re.DOTALL)
    solution = blocks[-1] if blocks else solution_str
    return 1.0 if run(solution + "\n\n" + ground_truth) == 0 else 0.0
