import json
SCHEMA = {"type": "object", "required": ["name", "age"], "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0}, "tags": {"type": "array", "items": {"type": "string"}}}}
TYPES = {"object": dict, "string": str, "integer": int, "array": list, "number": (int, float), "boolean": bool}
def errors(v, s):
    if not isinstance(v, TYPES[s["type"]]) or s["type"] == "integer" and isinstance(v, bool): return 1
    n = sum(k not in v for k in s.get("required", [])) if isinstance(v, dict) else 0
    if isinstance(v, dict): n += sum(errors(v[k], p) for k, p in s.get("properties", {}).items() if k in v)
    if isinstance(v, list): n += sum(errors(x, s["items"]) for x in v)
    return n + ("minimum" in s and v < s["minimum"])
def schema_reward(completions, **kwargs):
    out = []
    for c in completions:
        try: out.append(1 / (1 + errors(json.loads(c[0]["content"]), SCHEMA)))
        except json.JSONDecodeError: out.append(-1.0)
    return out
