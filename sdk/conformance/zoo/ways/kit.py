from merit_reward import reward_function

import json
import zlib


def digest(*seen):
    return float(zlib.crc32(json.dumps(seen, sort_keys=True).encode()))


@reward_function
def fingerprint(messages, ground_truth=None, **kwargs):
    hidden = ("id", "group", "task", "metadata")  # see trl.py for these
    return digest([dict(m) for m in messages], ground_truth, {k: v for k, v in kwargs.items() if k not in hidden and v is not None})
