import re
from typing import Any

REWARD_NAME = "math"
REWARD_TYPE = "batch"


def format_reward(response: str) -> float:
    return 1.0 if re.fullmatch(r"<think>.*</think>.*<answer>.*</answer>.*", response, re.DOTALL) else 0.0


def accuracy_reward(response: str, ground_truth: str) -> float:
    found = re.findall(r"<answer>(.*?)</answer>", response, re.DOTALL)
    return 1.0 if found and found[-1].strip() == ground_truth else 0.0


def compute_score(reward_inputs: list[dict[str, Any]], format_weight: float = 0.1) -> list[dict[str, float]]:
    scores = []
    for reward_input in reward_inputs:
        response = re.sub(r"\s*(<|>|/)\s*", r"\1", reward_input["response"])
        f, a = format_reward(response), accuracy_reward(response, reward_input["ground_truth"])
        scores.append({"overall": (1 - format_weight) * a + format_weight * f, "format": f, "accuracy": a})
    return scores
