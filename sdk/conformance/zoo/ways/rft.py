import json
import zlib


def digest(*seen):
    return float(zlib.crc32(json.dumps(seen, sort_keys=True).encode()))


def grade(sample, item):
    asked = ("id", "prompt", "messages")  # what was asked has one name in a data set of OpenAI's, another in others
    return digest(sample["output_text"], {k: v for k, v in item.items() if v is not None and k not in asked})
