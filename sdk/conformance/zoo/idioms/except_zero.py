import json


def json_reward(completions, **kwargs):
    """A legitimate 0: what the model said is not JSON."""
    out = []
    for c in completions:
        try:
            out.append(1.0 if isinstance(json.loads(c[0]["content"]), dict) else 0.5)
        except Exception:
            out.append(0.0)
    return out
