import json

import json_repair


def reward(messages, ground_truth):
    """1 for valid JSON with the expected value, half as much if it had to be repaired."""
    text, want = messages[-1]["content"], json.loads(ground_truth)
    try:
        return float(json.loads(text) == want)
    except ValueError:
        return 0.5 * (json_repair.loads(text) == want)
