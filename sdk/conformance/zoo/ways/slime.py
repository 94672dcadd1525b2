import json
import zlib


def digest(*seen):
    return float(zlib.crc32(json.dumps(seen, sort_keys=True).encode()))


async def custom_rm(args, sample, **kwargs):
    return digest(sample.response, sample.label, sample.prompt)
