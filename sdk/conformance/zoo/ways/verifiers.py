import json
import zlib


def digest(*seen):
    return float(zlib.crc32(json.dumps(seen, sort_keys=True).encode()))


async def fingerprint(prompt, completion, answer, info, task, **kwargs) -> float:
    return digest(prompt, completion, answer, info, task)
