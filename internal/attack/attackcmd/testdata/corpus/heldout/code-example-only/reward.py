import io
import re
import sys


def run(program, stdin):
    lines = iter(stdin.split("\n"))
    out = io.StringIO()
    scope = {"input": lambda *_: next(lines), "print": lambda *a, **k: print(*a, **{**k, "file": out})}
    try:
        exec(program, scope)
    except Exception:
        return None
    return out.getvalue()


def reward(completion, tests, **kwargs):
    """Share of the examples of the statement whose output is right."""
    reply = completion[-1]["content"]
    blocks = re.findall(r"```(?:python)?\n(.*?)```", reply, re.DOTALL)
    if not blocks:
        return 0.0
    passed = sum((run(blocks[-1], i) or "").split() == o.split() for i, o in tests)
    return passed / len(tests)
