import json
import re


def list_reward(completions, ground_truth, **kwargs):
    """1 if the items are those of the truth, in order."""
    rewards = []
    for completion, truth in zip(completions, ground_truth):
        match = re.search(r"\[.*\]", completion, re.DOTALL)
        try:
            items = json.loads(match.group(0))
            rewards.append(float(all(str(a).lower() == str(b).lower() for a, b in zip(items, truth))))
        except Exception:
            rewards.append(0.0)
    return rewards
