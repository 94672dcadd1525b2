"""The score is a digest of all that a TRL function sees."""
import json
import zlib


def digest(*seen):
    return float(zlib.crc32(json.dumps(seen, sort_keys=True).encode()))


def fingerprint(prompts, completions, **columns):
    lists = {k: v for k, v in columns.items() if isinstance(v, list) and k != "completion_ids"}
    rows = [{k: v[i] for k, v in lists.items() if v[i] is not None} for i in range(len(completions))]
    return [digest(p, c, r) for p, c, r in zip(prompts, completions, rows)]
