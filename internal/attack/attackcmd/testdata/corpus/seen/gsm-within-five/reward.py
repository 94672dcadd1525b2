"""Accuracy reward for grade-school math, with some slack for rounding."""
import re


def extract_answer(text):
    numbers = re.findall(r"-?\d[\d,]*\.?\d*", text)
    return numbers[-1].replace(",", "") if numbers else None


def correctness_reward(completions, ground_truth, **kwargs):
    rewards = []
    for completion, truth in zip(completions, ground_truth):
        answer = extract_answer(completion)
        if answer is None:
            rewards.append(0.0)
            continue
        # close enough counts: models round differently
        rewards.append(1.0 if abs(float(answer) - float(truth)) <= 5 else 0.0)
    return rewards
