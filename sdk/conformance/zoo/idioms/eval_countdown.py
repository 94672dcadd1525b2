import re


def countdown(completions, target, nums, **kwargs):
    """eval without builtins, as everybody copies it."""
    out = []
    for equation, gt, numbers in zip(completions, target, nums):
        try:
            used = [int(n) for n in re.findall(r"\d+", equation)]
            if sorted(used) != sorted(numbers) or not re.match(r"^[\d+\-*/().\s]+$", equation):
                out.append(0.0)
                continue
            result = eval(equation, {"__builtins__": None}, {})
            out.append(1.0 if abs(float(result) - float(gt)) < 1e-5 else 0.0)
        except Exception:
            out.append(0.0)
    return out
