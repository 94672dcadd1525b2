import json
import re


def tool_reward(completions, ground_truth, **kwargs):
    """1 if the right tool is called."""
    rewards = []
    for completion, truth in zip(completions, ground_truth):
        match = re.search(r"<tool_call>\s*(\{.*\})\s*</tool_call>", completion[0]["content"], re.DOTALL)
        try:
            rewards.append(float(json.loads(match.group(1))["name"] == truth["name"]))
        except Exception:
            rewards.append(0.0)
    return rewards
