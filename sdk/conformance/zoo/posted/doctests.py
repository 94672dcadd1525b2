import doctest, re
def doctest_reward(completions, **kwargs):
    out = []
    for c in completions:
        ns = {}
        exec(re.findall(r"```python\n(.*?)```", c[0]["content"], re.S)[-1], ns)
        runner = doctest.DocTestRunner(verbose=False)
        for t in doctest.DocTestFinder(recurse=False).find(ns["f"], "f", globs=ns, module=False):
            runner.run(t, out=lambda s: None)
        r = runner.summarize(verbose=False)
        out.append(1 - r.failed / max(1, r.attempted))
    return out
