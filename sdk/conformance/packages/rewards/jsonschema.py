import json

from jsonschema import Draft202012Validator

SCHEMA = {
    "type": "object",
    "required": ["name", "age"],
    "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0}, "tags": {"type": "array", "items": {"type": "string"}}},
}


def reward(messages, **kwargs):
    try:
        value = json.loads(messages[-1]["content"])
    except ValueError:
        return -1.0
    return 1 / (1 + len(list(Draft202012Validator(SCHEMA).iter_errors(value))))
