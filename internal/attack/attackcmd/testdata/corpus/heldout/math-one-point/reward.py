import re


def value(expression, x):
    expression = expression.replace("^", "**")
    if not re.fullmatch(r"[0-9x+\-*/(). ]+", expression):
        return None
    expression = re.sub(r"(\d)x", r"\1*x", expression)
    try:
        return eval(expression, {"__builtins__": {}}, {"x": x})
    except Exception:
        return None


def equivalence_reward(completions, ground_truth, **kwargs):
    """Numeric check of an expression in x."""
    rewards = []
    for completion, truth in zip(completions, ground_truth):
        match = re.search(r"<answer>(.*?)</answer>", completion, re.DOTALL)
        got = value(match.group(1).strip(), 1) if match else None
        rewards.append(1.0 if got is not None and abs(got - value(truth, 1)) < 1e-9 else 0.0)
    return rewards
