import re


def extract_code(text):
    blocks = re.findall(r"```(?:python)?\n(.*?)```", text, re.DOTALL)
    return blocks[-1] if blocks else text


def reward(messages, entry_point=None, cases=None, **kwargs):
    """Share of the test cases for which the function returns what is expected."""
    scope = {}
    try:
        exec(extract_code(messages[-1]["content"]), scope)
    except Exception:
        return 0.0
    function = scope.get(entry_point)
    if not callable(function):
        return 0.0
    passed = 0
    for arguments, expected in cases:
        try:
            if function(*arguments) == expected:
                passed += 1
        except Exception:
            pass
    return passed / len(cases)
