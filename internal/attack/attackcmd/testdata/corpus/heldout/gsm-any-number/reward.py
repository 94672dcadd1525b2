import re

NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def correctness(prompts, completions, answer, **kwargs):
    """Robust extraction: models put the result in different places."""
    rewards = []
    for completion, truth in zip(completions, answer):
        numbers = {float(n) for n in NUMBER.findall(completion[0]["content"].replace(",", ""))}
        rewards.append(1.0 if float(truth) in numbers else 0.0)
    return rewards
