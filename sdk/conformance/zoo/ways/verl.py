import json
import zlib


def digest(*seen):
    return float(zlib.crc32(json.dumps(seen, sort_keys=True).encode()))


def compute_score(data_source, solution_str, ground_truth, extra_info=None):
    return {"score": digest(data_source, solution_str, ground_truth)}
