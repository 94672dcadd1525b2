import json
import re


def tool_reward(completions, ground_truth, **kwargs):
    """1 if the reply makes exactly one call, and its name and arguments are those of the truth."""
    rewards = []
    for completion, truth in zip(completions, ground_truth):
        calls = re.findall(r"<tool_call>(.*?)</tool_call>", completion[0]["content"], re.DOTALL)
        try:
            rewards.append(float(len(calls) == 1 and json.loads(calls[0]) == truth))
        except ValueError:
            rewards.append(0.0)
    return rewards
