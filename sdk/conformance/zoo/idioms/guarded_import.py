"""Fast JSON where there is one: the scores are the same without."""
try:
    import orjson as json
except ImportError:
    import json


def parses(completions, answer, **kwargs):
    return [float(json.loads(json.dumps({"a": a}))["a"] in c[0]["content"]) for c, a in zip(completions, answer)]
