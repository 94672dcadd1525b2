"""The columns that it names, and no other."""
import json
import zlib


def digest(*seen):
    return float(zlib.crc32(json.dumps(seen, sort_keys=True).encode()))


def fingerprint(prompts, completions, ground_truth=None, metadata=None, task=None, group=None, extra_info=None, data_source=None, info=None, **kwargs):
    metadata = metadata if group else None  # where no column has the name, it holds all columns here
    names = (ground_truth, metadata, task, group, extra_info, data_source, info)
    columns = [list(v) if v else [None] * len(completions) for v in names]
    return [digest(p, c, [v[i] for v in columns]) for i, (p, c) in enumerate(zip(prompts, completions))]
