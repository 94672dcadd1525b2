import re


def reward_func(queries, prompts, labels):
    rewards, formats = [], []
    for query, label in zip(queries, labels):
        found = re.findall(r"<answer>(.*?)</answer>", query, re.DOTALL)
        formats.append(1.0 if found else 0.0)
        rewards.append(1.0 if found and label in found[-1] else 0.0)
    return {"rewards": rewards, "scores": rewards, "extra_logs": {"format": formats}}
