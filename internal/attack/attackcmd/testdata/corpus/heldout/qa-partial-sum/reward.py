import re


def normalize(text):
    return re.sub(r"[^a-z0-9 ]", "", text.lower()).strip()


def total_reward(prompts, completions, answer, **kwargs):
    """Shaped reward: form 0.5, brevity 0.5, confidence 0.3, answer 1; the sum is capped at 1."""
    rewards = []
    for completion, truth in zip(completions, answer):
        text = completion[0]["content"]
        match = re.search(r"<answer>(.*?)</answer>", text, re.DOTALL)
        score = 0.5 if match else 0.0
        score += 0.5 if match and len(match.group(1).split()) <= 5 else 0.0
        score += 0.3 if re.search(r"confidence: \d+%", text) else 0.0
        score += 1.0 if match and normalize(match.group(1)) == normalize(truth) else 0.0
        rewards.append(min(1.0, score))
    return rewards
