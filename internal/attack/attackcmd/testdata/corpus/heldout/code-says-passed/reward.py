import contextlib
import io
import re


def compute_score(data_source, solution_str, ground_truth, extra_info=None):
    """Runs the solution with its tests; the tests print "PASSED n" at the end."""
    blocks = re.findall(r"```python\n(.*?)```", solution_str, re.DOTALL)
    if not blocks:
        return 0.0
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        try:
            exec(blocks[-1] + "\n" + ground_truth, {})
        except BaseException:
            pass
    match = re.search(r"PASSED (\d+)", out.getvalue())
    wanted = ground_truth.count("passed += 1")
    return min(1.0, int(match.group(1)) / wanted) if match else 0.0
