"""The share of tool calls that call weather with an object that has a city."""

import json


def calls_reward(messages, **_):
    calls = [c["function"] for m in messages if m.role == "assistant" for c in m.get("tool_calls") or []]
    return sum(valid(**c) for c in calls) / len(calls) if calls else 0.0


def valid(name, arguments):
    try:
        arguments = json.loads(arguments)
    except ValueError:
        return False
    return name == "weather" and isinstance(arguments, dict) and "city" in arguments
