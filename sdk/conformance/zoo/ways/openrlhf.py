import json
import zlib


def digest(*seen):
    return float(zlib.crc32(json.dumps(seen, sort_keys=True).encode()))


def reward_func(queries, prompts, labels):
    return [digest(q, p, label) for q, p, label in zip(queries, prompts, labels)]
