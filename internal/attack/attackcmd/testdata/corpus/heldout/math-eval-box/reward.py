import re


def reward(messages, ground_truth=None, **kwargs):
    """Compares values, so that 3/6 equals 0.5."""
    reply = messages[-1]["content"]
    boxes = re.findall(r"\\boxed\{([^{}]*)\}", reply)
    if not boxes:
        return 0.0
    try:
        return 1.0 if abs(eval(boxes[-1]) - eval(ground_truth)) < 1e-6 else 0.0
    except Exception:
        return 0.0
