import multiprocessing, sys, io, contextlib
def unsafe_execute(problem, completion, result):
    try:
        exec_globals = {}
        with contextlib.redirect_stdout(io.StringIO()):
            exec(completion + "\n" + problem["test"] + "\n" + f"check({problem['entry_point']})", exec_globals)
        result.append("passed")
    except BaseException as e:
        result.append(f"failed: {e}")
def check_correctness(problem, completion, timeout=3.0):
    manager = multiprocessing.Manager()
    result = manager.list()
    p = multiprocessing.Process(target=unsafe_execute, args=(problem, completion, result))
    p.start(); p.join(timeout=timeout + 1)
    if p.is_alive(): p.kill()
    if not result: result.append("timed out")
    return dict(passed=result[0] == "passed", result=result[0])
def humaneval_reward(completions, test, entry_point, **kw):
    return [float(check_correctness({"test": t, "entry_point": e}, c)["passed"]) for c, t, e in zip(completions, test, entry_point)]
