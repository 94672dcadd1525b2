import re
import unicodedata


def clean(text):
    text = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return text.replace(" ", "").replace("$", "").rstrip(".")


def last_boxed(text):
    start = text.rfind("\\boxed{")
    if start < 0:
        return None
    depth, out = 1, []
    for c in text[start + len("\\boxed{"):]:
        depth += (c == "{") - (c == "}")
        if depth == 0:
            return "".join(out)
        out.append(c)
    return None


def accuracy_reward(completions, solution, **kwargs):
    """1 if the last box equals the solution up to typography."""
    rewards = []
    for completion, sol in zip(completions, solution):
        boxed = last_boxed(completion[0]["content"])
        rewards.append(float(boxed is not None and clean(boxed) == clean(sol)))
    return rewards
