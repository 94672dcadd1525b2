import json


def reward(messages, numbers=None, **kwargs):
    """1 if the reply is a JSON array with the numbers of the row in rising order."""
    try:
        items = json.loads(messages[-1]["content"])
    except ValueError:
        return 0.0
    if not isinstance(items, list) or any(type(x) is not int for x in items):
        return 0.0
    return 1.0 if items == sorted(numbers) else 0.0
