try:
    from pydantic import BaseModel
except ImportError:
    BaseModel = object


def shaped(completions, answer, **kwargs):
    """The import fails at load and is guarded: a warning, and the scores count."""
    return [float(a in c[0]["content"]) for c, a in zip(completions, answer)]
