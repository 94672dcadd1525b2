"""Runs a program that a model wrote, for /run_code: its standard output and error and its status are metrics.

A reward like any other, which scores 1 for a program that ends with status 0, else 0. The code is the
answer; stdin, run_timeout and language are columns, as SandboxFusion's clients send them.
"""

import builtins
import json

from merit_reward import EvaluateResult, MetricResult, code

FUEL = 200_000_000  # units that stand for a second of run_timeout
MOST = 10  # seconds of run_timeout, whatever is asked for

# What runs beside the code in its program. The code reads the standard input and prints.
RUN = '''
import contextlib, io, sys, traceback

def stream(text=""):
    return io.TextIOWrapper(io.BytesIO(text.encode()), encoding="utf-8", errors="replace", newline="", write_through=True)

def run(source, stdin):
    out, err, status = stream(), stream(), 0
    sys.stdin = stream(stdin)
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            exec(compile(source, "main.py", "exec"), {"__name__": "__main__", "__builtins__": __builtins__})
        except SystemExit as e:
            status = e.code if isinstance(e.code, int) else int(e.code is not None)
            if status and not isinstance(e.code, int):
                print(e.code, file=sys.stderr)
        except BaseException as e:
            status = 1
            shown = traceback.TracebackException.from_exception(e)
            shown.stack = type(shown.stack).from_list(list(shown.stack)[1:])
            err.write("".join(shown.format()))
    return [s.buffer.getvalue().decode("utf-8", "replace") for s in (out, err)] + [status]
'''


def reward(messages, stdin=None, run_timeout=10, language="python", **kwargs):
    if language != "python":
        return EvaluateResult(is_score_valid=False, reason=f"the language {language} does not run here: only python does")
    builtins.ran = None
    runner = RUN + "# numpy" * ("numpy" in messages[-1].text)  # the program then begins with numpy imported
    test = f"import builtins\nbuiltins.ran = run({messages[-1].text!r}, {stdin or ''!r})"
    fuel = int(FUEL * min(max(float(run_timeout), 0.1), MOST))
    [done] = code.run(runner, test, fuel=fuel).tests
    if done.verdict in ("out_of_fuel", "out_of_memory", "crashed"):
        stdout, stderr, status = "", f"{done.verdict}: {done.message}", None
    elif builtins.ran is None:
        return EvaluateResult(is_score_valid=False, reason=f"{done.verdict}: {done.message}")
    else:
        stdout, stderr, status = builtins.ran
    texts = {"stdout": stdout, "stderr": stderr, "verdict": done.verdict}
    # as JSON, in which a reason holds any character
    metrics = {name: MetricResult(score=float(len(text)), is_score_valid=True, reason=json.dumps(text)) for name, text in texts.items()}
    if status is not None:
        metrics["return_code"] = MetricResult(score=float(status), is_score_valid=True, reason="")
    return EvaluateResult(score=float(status == 0), reason=stderr[-200:], metrics=metrics)
