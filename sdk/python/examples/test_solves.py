"""A reward that runs code, in both ways: natively it is a process, in the sandbox a program."""

import pytest

RIGHT = """
def median(values):
    if not values:
        raise ValueError("no values")
    s, n = sorted(values), len(values)
    return (s[(n - 1) // 2] + s[n // 2]) / 2
"""


@pytest.mark.parametrize(
    "source, score, says",
    [
        (RIGHT, 1.0, "5 of 5 tests passed"),
        (RIGHT.replace("s, n = sorted(values),", "values.sort(); s, n = values,"), 0.8, "the argument was sorted in place"),
        (RIGHT.replace("ValueError", "KeyError"), 0.8, "KeyError: 'no values'"),
        ("class Any:\n    def __eq__(self, other): return True\ndef median(values): return Any()", 0.2, "is no data"),
        (RIGHT + "import os; os._exit(0)", None, "crashed"),
    ],
)
def test_median(merit_reward, source, score, says):
    result = merit_reward("solves.py")([{"role": "assistant", "content": f"So:\n```python\n{source}\n```"}])
    assert result.score == score and says in result.reason
