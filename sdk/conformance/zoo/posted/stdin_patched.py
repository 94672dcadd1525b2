# eurus / PRIME code: json truth, stdin/stdout tests
import io, json, sys, traceback, zlib, pickle, base64, contextlib
from unittest.mock import patch, mock_open
def run_stdio(code, inp):
    out = io.StringIO()
    with contextlib.redirect_stdout(out), patch("sys.stdin", io.StringIO(inp)), patch("builtins.open", mock_open(read_data=inp)):
        try:
            exec(compile(code, "<sol>", "exec"), {"__name__": "__main__"})
        except SystemExit:
            pass
    return out.getvalue()
def compute_score(completion, test_cases, continuous=False):
    solution = completion.split('```python')[-1].split('```')[0]
    try:
        try:
            if not isinstance(test_cases, dict):
                test_cases = json.loads(test_cases)
        except Exception as e:
            print(f"Error:{e}")
        oks = []
        for i, o in zip(test_cases["inputs"], test_cases["outputs"]):
            try:
                got = run_stdio(solution, i)
                oks.append(got.strip().split("\n") == o.strip().split("\n"))
            except Exception:
                traceback.print_exc(10)
                oks.append(False)
        success = sum(oks) / len(oks) if continuous else float(all(oks))
        return success, oks
    except Exception as e:
        traceback.print_exc(10)
        return False, None
