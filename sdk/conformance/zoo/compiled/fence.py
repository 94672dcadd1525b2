"""The last fenced block: 0.2 for it, 0.3 for a return in it, 0.5 for one def."""

import re

BLOCK = re.compile(r"```(?:python)?\n(.*?)```", re.DOTALL)


def fence_reward(messages, **_):
    blocks = BLOCK.findall(messages[-1].text)
    if not blocks:
        return 0.0
    return 0.2 + 0.3 * ("return" in blocks[-1]) + 0.5 * (blocks[-1].count("def ") == 1)
