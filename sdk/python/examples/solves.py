"""Runs the code of an answer against tests of one's own, hidden from the prompt."""

from merit_reward import EvaluateResult, code, reward_function

TESTS = [
    "assert median([3, 1, 2]) == 2",
    "assert median([1, 2, 3, 4]) == 2.5",
    "values = [3, 1, 2]\nmedian(values)\nassert values == [3, 1, 2], 'the argument was sorted in place'",
    """
try:
    median([])
except ValueError:
    pass
else:
    raise AssertionError("no ValueError for an empty list")
""",
    """
import random, statistics
r = random.Random(1)
for _ in range(50):
    values = [r.randrange(100) for _ in range(r.randrange(1, 20))]
    assert median(values[:]) == statistics.median(values), values
""",
]


@reward_function
def solves(messages, **kwargs):
    report = code.run(code.extract(messages[-1].text), TESTS, fuel=50_000_000)
    if report.stopped:
        return EvaluateResult(is_score_valid=False, reason=str(report))
    return EvaluateResult(score=report.passed / report.total, reason=str(report))
