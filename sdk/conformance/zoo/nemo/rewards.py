"""Rewards for NeMo RL: each gets the truth and the response, and says a score and whether it is right, or None."""
import re


def tagged(ground_truth: str, response: str, tag: str = "answer") -> tuple[float, bool | None]:
    found = re.search(rf"<{tag}>([\s\S]*?)</{tag}>", response)
    right = bool(found) and found.group(1).strip() == ground_truth.strip()
    return float(right), right


def thinks_first(ground_truth: str, response: str, think_tag: str = "think", answer_tag: str = "answer") -> tuple[float, bool | None]:
    score = 0.0
    if re.search(rf"<{think_tag}>[\s\S]*</{think_tag}>", response):
        score += 0.25
    if re.search(rf"<{answer_tag}>[\s\S]*</{answer_tag}>", response):
        score += 0.75
    return score, None


def letters_only(ground_truth: str, response: str, tag: str = "answer") -> tuple[float, bool | None]:
    found = re.search(rf"<{tag}>([\s\S]*?)</{tag}>", response)
    bare = lambda text: "".join(c for c in text.lower() if c.isalnum())
    right = bool(found) and bare(found.group(1)) == bare(ground_truth)
    return float(right), right
