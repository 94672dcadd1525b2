"""APPS/TACO/CodeContests style: run whole programs with stdin, several ways of reading."""
import io, sys, re, contextlib
class StdIO(io.StringIO):
    def __init__(self, s):
        super().__init__(s)
        self.buffer = io.BytesIO(s.encode())
def run(code, inp):
    old = sys.stdin, sys.argv
    out = io.StringIO()
    sys.stdin = StdIO(inp)
    try:
        with contextlib.redirect_stdout(out):
            try:
                exec(compile(code, "solution.py", "exec"), {"__name__": "__main__", "__file__": "solution.py"})
            except SystemExit:
                pass
    finally:
        sys.stdin, sys.argv = old
    return out.getvalue()
def apps_reward(completions, inputs, outputs, **kwargs):
    res = []
    for c, ins, outs in zip(completions, inputs, outputs):
        m = re.search(r"```python\n(.*?)```", c[0]["content"], re.S)
        ok = 0
        for i, o in zip(ins, outs):
            try:
                ok += run(m.group(1), i).split() == o.split()
            except Exception as e:
                print(type(e).__name__, e)
        res.append(ok / len(ins))
    return res
