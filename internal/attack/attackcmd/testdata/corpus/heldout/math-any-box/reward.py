import re


def accuracy_reward(completions, solution, **kwargs):
    rewards = []
    for completion, sol in zip(completions, solution):
        content = completion[0]["content"]
        boxes = re.findall(r"\\boxed\{((?:[^{}]|\{[^{}]*\})*)\}", content)
        rewards.append(1.0 if sol in boxes else 0.0)
    return rewards
