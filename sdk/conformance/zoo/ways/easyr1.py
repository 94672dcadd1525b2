import json
import zlib


def digest(*seen):
    return float(zlib.crc32(json.dumps(seen, sort_keys=True).encode()))


def compute_score(reward_inputs):
    return [{"overall": digest(r["response"], r["ground_truth"])} for r in reward_inputs]
