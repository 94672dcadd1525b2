"""The usual guard around model-written code: a process, a queue, a join with a time-out."""
import multiprocessing as mp
import re


def worker(code, case, queue):
    scope = {}
    try:
        exec(code, scope)
        queue.put(repr(eval(case["input"], scope)) == case["output"])
    except Exception as e:
        queue.put(False)


def run(code, case):
    queue = mp.Queue()
    p = mp.Process(target=worker, args=(code, case, queue))
    p.start()
    p.join(timeout=5)
    if p.is_alive():
        p.terminate()
        return False
    return queue.get() if p.exitcode == 0 else False


def code_reward(completions, tests, **kwargs):
    out = []
    for c, cases in zip(completions, tests):
        found = re.search(r"```python\n(.*?)```", c[0]["content"], re.DOTALL)
        out.append(sum(run(found.group(1), t) for t in cases) / len(cases) if found else 0.0)
    return out
