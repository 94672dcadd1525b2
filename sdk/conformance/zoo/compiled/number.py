"""The last number behind "####": 1 if it is the truth, less the further it is off."""

import re

NUMBER = re.compile(r"-?[0-9][0-9,]*(?:\.[0-9]+)?")


def number_reward(messages, ground_truth, **_):
    want = float(ground_truth)
    found = NUMBER.findall(messages[-1].text.rsplit("####", 1)[-1])
    if not found:
        return 0.0
    got = float(found[-1].replace(",", ""))
    return 1.0 if got == want else max(0.0, 0.5 - abs(got - want) / (abs(want) + 1))
