"""Tags: an eighth for each that stands once, and a half for the whole pattern."""

import re

TAGS = ("<think>\n", "\n</think>\n", "\n<answer>\n", "\n</answer>")
PATTERN = re.compile(r"<think>\n.*?\n</think>\n<answer>\n.*?\n</answer>", re.DOTALL)


def format_reward(messages, **_):
    text = messages[-1].text
    return 0.125 * sum(text.count(tag) == 1 for tag in TAGS) + (0.5 if PATTERN.fullmatch(text) else 0)
