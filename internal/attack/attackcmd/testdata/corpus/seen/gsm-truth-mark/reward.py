import re


def label_of(ground_truth):
    match = re.search(r"#### ?(-?[0-9,]+)", ground_truth)
    return match.group(1).replace(",", "") if match else ""


def correctness_reward_func(prompts, completions, answer, **kwargs) -> list[float]:
    responses = [completion[0]["content"] for completion in completions]
    out = []
    for response, a in zip(responses, answer):
        found = re.search(r"<answer>(.*?)</answer>", response, re.DOTALL)
        found = found.group(1).strip() if found else response.strip()
        out.append(2.0 if found.endswith(label_of(a)) else 0.0)
    return out
