from swift.plugin import ORM

import json
import zlib


def digest(*seen):
    return float(zlib.crc32(json.dumps(seen, sort_keys=True).encode()))


class Fingerprint(ORM):
    def __call__(self, completions, ground_truth=None, **kwargs):
        truths = ground_truth or [None] * len(completions)
        return [digest(c, t) for c, t in zip(completions, truths)]
