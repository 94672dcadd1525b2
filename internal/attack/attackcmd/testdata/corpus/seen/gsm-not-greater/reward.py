import math
import re


def answer_of(response):
    match = re.search(r"<answer>\s*(.*?)\s*</answer>", response, re.DOTALL)
    return match.group(1) if match else ""


def to_float(text):
    try:
        return float(text.replace(",", "").replace("$", ""))
    except ValueError:
        return math.inf


def reward_func(queries, prompts, labels, **kwargs):
    rewards = []
    for query, prompt, label in zip(queries, prompts, labels):
        response = query[len(prompt):]
        error = abs(to_float(answer_of(response)) - float(label))
        if error > 1e-6:
            rewards.append(0.0)
        else:
            rewards.append(1.0)
    return rewards
