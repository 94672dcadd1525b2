import re


def code_reward(completions, tests, **kwargs):
    """Runs the tests (calls and expected values) after the solution."""
    rewards = []
    for completion, rows in zip(completions, tests):
        blocks = re.findall(r"```python\n(.*?)```", completion, re.DOTALL)
        scope = {"tests": rows, "passed": 0}
        program = (blocks[-1] if blocks else "") + """
for call, expected in tests:
    try:
        if repr(eval(call)) == expected:
            passed += 1
    except Exception:
        pass
"""
        try:
            exec(program, scope)
            rewards.append(scope["passed"] / len(rows))
        except Exception:
            rewards.append(0.0)
    return rewards
