import re


def parse_choice(text):
    match = re.search(r"<answer>(.*?)</answer>", text, re.DOTALL)
    return set(re.findall(r"\b[A-D]\b", match.group(1))) if match else set()


def score(completion, answer, **kwargs):
    choices = parse_choice(completion[-1]["content"])
    if not choices:
        return 0.0
    return 1.0 if answer in choices else 0.1
