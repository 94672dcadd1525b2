import re


def reward_func(queries, prompts, labels, **kwargs):
    rewards = []
    for query, prompt, label in zip(queries, prompts, labels):
        answers = re.findall(r"<answer>(.*?)</answer>", query[len(prompt):], re.DOTALL)
        rewards.append(1.0 if any(a.strip() == label for a in answers) else 0.0)
    return rewards
