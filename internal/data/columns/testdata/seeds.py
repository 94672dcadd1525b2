"""Writes the small Parquet files of this folder: seeds.py FOLDER, with pyarrow
26.0.1. Each has an encoding, a codec or a version of pages of its own."""

import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

folder = Path(sys.argv[1])
message = pa.struct([("role", pa.string()), ("content", pa.string())])
talk = pa.table({
    "id": [f"row-{i}" for i in range(6)],
    "messages": pa.array([[{"role": "user", "content": "q" * i}, {"role": "assistant", "content": None}][: i % 3] if i else None for i in range(6)], pa.list_(message)),
    "tags": pa.array([[("k", i)] for i in range(6)], pa.map_(pa.string(), pa.int16())),
    "score": pa.array([0.5, None, 1.0, float("nan"), 2.0, 0.5]),
})
for codec in ["none", "snappy", "gzip", "zstd", "lz4", "brotli"]:
    pq.write_table(talk, folder / f"{codec}.parquet", compression=codec, row_group_size=4, write_page_checksum=codec == "snappy", store_schema=False)
pq.write_table(talk, folder / "v2.parquet", compression="none", data_page_version="2.0", store_schema=False)
numbers = pa.table({
    "delta": pa.array([i * i - 20 for i in range(40)], pa.int64()),
    "lengths": [None if i % 5 == 0 else "x" * i for i in range(40)],
    "prefixes": [f"https://example.org/{i}" for i in range(40)],
    "stripes": [i / 3 for i in range(40)],
    "flags": [i % 3 == 0 for i in range(40)],
    "when": pa.array([i * 10**12 for i in range(40)], pa.timestamp("us")),
})
pq.write_table(
    numbers, folder / "encodings.parquet", compression="none", use_dictionary=False, data_page_version="2.0", store_schema=False,
    column_encoding={"delta": "DELTA_BINARY_PACKED", "lengths": "DELTA_LENGTH_BYTE_ARRAY", "prefixes": "DELTA_BYTE_ARRAY", "stripes": "BYTE_STREAM_SPLIT", "flags": "RLE"},
)
