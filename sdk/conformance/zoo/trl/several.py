import re


def int_reward_func(completions, **kwargs) -> list[float]:
    texts = [c[0]["content"] for c in completions]
    return [0.5 if t.split("<answer>")[-1].split("</answer>")[0].strip().isdigit() else 0.0 for t in texts]


def soft_format_reward_func(completions, **kwargs) -> list[float]:
    return [0.5 if re.search(r"<think>.*?</think>\s*<answer>.*?</answer>", c[0]["content"], re.DOTALL) else 0.0 for c in completions]


def count_xml(text) -> float:
    count = 0.0
    for tag in ("<think>\n", "\n</think>\n", "\n<answer>\n", "\n</answer>"):
        if text.count(tag) == 1:
            count += 0.125
    count -= len(text.split("\n</answer>")[-1]) * 0.001
    return count


def xmlcount_reward_func(completions, **kwargs) -> list[float]:
    return [count_xml(c[0]["content"]) for c in completions]
