"""Runs one of math-verify's own tests, and says what each call of parse and verify returned.

It is a reward, so the same code runs them in the sandbox and natively. A
trajectory names the module, the test and the case; the score is 1 if the test
passes. ``python own.py FOLDER`` lists them all, with what they say natively.
"""

from __future__ import annotations

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "packages")]

import importlib
import signal
import unittest.mock  # noqa: F401  a test patches with it

import math_verify
import math_verify.grader
import math_verify.parser
import sympy
import warm
from merit_reward import reward_function, warm_up

ALARM = signal.alarm
# The default of five seconds is not enough on a busy machine; the tests of the time-out ask for one second.
signal.alarm = lambda seconds: ALARM(seconds if seconds < 5 else 100 * seconds)
MODULES = "all boxed configs gamma_func numina_cases open_thoughts raise_on_error strict string_extraction timeout yujianll".split()
TRACE: list[str] = []


def traced(func):
    def call(*args, **kwargs):
        try:
            result = func(*args, **kwargs)
        except Exception as e:
            TRACE.append(f"{func.__name__}: {type(e).__name__}: {e}")
            raise
        TRACE.append(f"{func.__name__}: {shown(result)}")
        return result

    return call


def shown(value) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(map(shown, value)) + "]"
    return sympy.srepr(value) if isinstance(value, (sympy.Basic, sympy.MatrixBase)) else repr(value)


math_verify.parse = math_verify.parser.parse = traced(math_verify.parser.parse)
math_verify.verify = math_verify.grader.verify = traced(math_verify.grader.verify)
TESTS = {}
for name in MODULES:  # their files have another name here: test_*.py are no part of a reward
    TESTS[f"test_{name}"] = sys.modules[f"tests.test_{name}"] = importlib.import_module(f"tests.own_{name}")


@reward_function
def reward(messages, module, test, case):
    TRACE.clear()
    func = getattr(TESTS[module], test)
    try:
        func(**func.cases[case] if case >= 0 else {})
        passed = True
    except AssertionError:
        passed = False
    return {"score": float(passed), "reason": "\n".join(TRACE)}


@warm_up
def ready():
    """Fills the tables of the LaTeX parser, as the reward does."""
    for shape in warm.shapes():
        math_verify.parse(f"${shape}$")


def cases():
    for name, module in TESTS.items():
        for test, func in vars(module).items():
            if test.startswith("test_") and getattr(func, "__module__", "") == module.__name__:
                for i in range(len(func.cases)) if hasattr(func, "cases") else [-1]:
                    yield {"id": f"{name}.{test}[{i}]", "module": name, "test": test, "case": i}


if __name__ == "__main__":
    import json

    for c in cases():
        print(json.dumps({**c, "messages": [{"role": "assistant", "content": "-"}], "native": reward([], c["module"], c["test"], c["case"])}))
