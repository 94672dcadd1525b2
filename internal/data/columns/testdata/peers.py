"""Writes Parquet files as people have them, and their rows as JSON Lines, as
Python sees them: peers.py FOLDER."""

import datetime as dt
import decimal
import sys
from pathlib import Path

import datasets
import numpy
import pandas
import pyarrow as pa
import pyarrow.parquet as pq

from expected import expect

folder = Path(sys.argv[1])


def write(name: str, table: pa.Table, **options: object) -> None:
    pq.write_table(table, folder / f"{name}.parquet", **options)
    expect(folder / f"{name}.jsonl", table)


message = pa.struct([("role", pa.string()), ("content", pa.string()), ("tool_calls", pa.list_(pa.struct([("id", pa.string()), ("arguments", pa.large_string())])))])
rows = [
    {
        "id": f"row-{i}",
        "messages": None if i % 11 == 5 else [
            {"role": "user", "content": None if i % 7 == 3 else "é\n\"q\"\\\t\u0001 " * (i % 5), "tool_calls": None},
            {"role": "assistant", "content": "", "tool_calls": [] if i % 2 else [{"id": str(i), "arguments": "{}"}, {"id": None, "arguments": None}]},
        ][: i % 3],
        "nested": [[j, None] if j % 2 else [] for j in range(i % 4)] if i % 5 else None,
        "bag": [("b", i), ("a", None)][: i % 3],
        "word": ["red", "green", None, "blue"][i % 4],
        "truth": None if i % 9 == 0 else {"answer": i / 8, "style": {"rule": bool(i % 2)}},
    }
    for i in range(3000)
]
nested = pa.table(
    {
        "id": [r["id"] for r in rows],
        "messages": pa.array([r["messages"] for r in rows], pa.list_(message)),
        "nested": pa.array([r["nested"] for r in rows], pa.large_list(pa.list_(pa.int16()))),
        "bag": pa.array([r["bag"] for r in rows], pa.map_(pa.string(), pa.int64())),
        "word": pa.array([r["word"] for r in rows]).dictionary_encode(),
        "truth": pa.array([r["truth"] for r in rows]),
    }
)
for codec in ["none", "snappy", "gzip", "zstd", "lz4", "brotli"]:
    write(f"nested-{codec}", nested, compression=codec, row_group_size=1000, data_page_size=2000)
write("nested-v2", nested, data_page_version="2.0", row_group_size=700, data_page_size=2000, write_page_checksum=True, store_schema=False)
write("nested-v2-none", nested, data_page_version="2.0", compression="none", use_dictionary=False)
write("nested-old", nested, version="1.0", use_compliant_nested_type=False, use_dictionary=False)

moments = [0, 1, -1, 1_717_243_200_123_456, None]
scalars = pa.table(
    {
        **{f"i{n}": pa.array([-(2 ** (n - 1)), 2 ** (n - 1) - 1, 0, -1, None], getattr(pa, f"int{n}")()) for n in (8, 16, 32, 64)},
        **{f"u{n}": pa.array([0, 2**n - 1, 1, 2 ** (n - 1), None], getattr(pa, f"uint{n}")()) for n in (8, 16, 32, 64)},
        "f16": pa.array(numpy.array([0.5, -2.0, 65504, 6e-8, 0], numpy.float16)),
        "f32": pa.array([0.1, -1e-7, 3e38, float("nan"), None], pa.float32()),
        "f64": pa.array([0.1, -1e-7, 1e300, 12345678901234567.0, 100.0]),
        "flag": pa.array([True, False, None, True, True]),
        "bytes": pa.array([b"", b"\xff\x00", None, b"text", b"x"]),
        "fixed": pa.array([b"abc", b"\x00\x01\x02", None, b"xyz", b"   "], pa.binary(3)),
        "large": pa.array(["", "\U0001f600", None, "\u2028", "a\x7fb"], pa.large_string()),
        "view": pa.array(["", "a longer text than twelve", None, "x", "y"], pa.string_view()),
        "d1": pa.array([decimal.Decimal(x) if x else None for x in ["1.10", "-0.05", "0.00", "99.99", None]], pa.decimal128(4, 2)),
        "d2": pa.array([decimal.Decimal(x) if x else None for x in ["1" * 30 + ".5", "-0.1", "0.0", "7.0", None]], pa.decimal128(38, 1)),
        "d3": pa.array([decimal.Decimal(x) if x else None for x in ["1" * 60, "-5", "0", "7", None]], pa.decimal256(70, 0)),
        "date": pa.array([dt.date(1969, 12, 31), dt.date(2024, 2, 29), None, dt.date(1, 1, 1), dt.date(9999, 12, 31)]),
        "ms": pa.array([None if m is None else m // 1000 for m in moments], pa.timestamp("ms")),
        "us": pa.array(moments, pa.timestamp("us", "UTC")),
        "ns": pa.array(moments, pa.timestamp("ns")),
        "t32": pa.array([0, 1, 86_399_999, 3_600_000, None], pa.time32("ms")),
        "t64": pa.array([0, 1, 86_399_999_999, 3_600_000_000, None], pa.time64("us")),
        "none": pa.nulls(5),
        "pair": pa.array([[1, 2], None, [3, 4], [5, None], [0, 0]], pa.list_(pa.int32(), 2)),
        "keys": pa.array([[(1, "a")], [], None, [(-2, None)], [(3, "c"), (4, "d")]], pa.map_(pa.int32(), pa.string())),
    }
)
write("scalars", scalars)
write("scalars-v2", scalars, data_page_version="2.0", use_dictionary=False)
write("scalars-int96", scalars.select(["ms", "us", "ns"]).cast(pa.schema([("ms", pa.timestamp("ns")), ("us", pa.timestamp("ns")), ("ns", pa.timestamp("ns"))])), use_deprecated_int96_timestamps=True)

numbers = pa.table(
    {
        "delta32": pa.array([(i * 7919) % 1000 - 500 for i in range(5000)], pa.int32()),
        "delta64": pa.array([(-1) ** i * 3**(i % 39) for i in range(5000)], pa.int64()),
        "lengths": pa.array([None if i % 13 == 0 else "x" * (i % 40) for i in range(5000)]),
        "prefixes": pa.array([f"https://example.org/{i // 100}/{i}" for i in range(5000)]),
        "stripes": pa.array([i / 3 for i in range(5000)]),
        "stripes32": pa.array([i / 3 for i in range(5000)], pa.float32()),
        "flags": pa.array([i % 3 == 0 for i in range(5000)]),
    }
)
write(
    "encodings", numbers, use_dictionary=False, data_page_version="2.0", data_page_size=4000,
    column_encoding={"delta32": "DELTA_BINARY_PACKED", "delta64": "DELTA_BINARY_PACKED", "lengths": "DELTA_LENGTH_BYTE_ARRAY", "prefixes": "DELTA_BYTE_ARRAY", "stripes": "BYTE_STREAM_SPLIT", "stripes32": "BYTE_STREAM_SPLIT", "flags": "RLE"},
)

write("empty", nested.slice(0, 0))
write("nothing", pa.table({"a": pa.nulls(2500), "b": pa.array([[]] * 2500, pa.list_(pa.int8()))}), row_group_size=1000)

frame = pandas.DataFrame({"question": ["a", "b"], "score": [1.5, None], "count": [1, 2], "when": pandas.to_datetime(["2024-01-01", None])}, index=["x", "y"])
frame.to_parquet(folder / "pandas.parquet")
expect(folder / "pandas.jsonl", pq.read_table(folder / "pandas.parquet"))

hub = datasets.Dataset.from_list(
    [{"id": str(i), "messages": [{"role": "user", "content": f"q{i}"}, {"role": "assistant", "content": "a"}], "turns": {"role": ["user"], "content": [str(i)]}} for i in range(50)],
    features=datasets.Features({
        "id": datasets.Value("string"),
        "messages": [{"role": datasets.Value("string"), "content": datasets.Value("large_string")}],
        "turns": datasets.Sequence({"role": datasets.Value("string"), "content": datasets.Value("string")}),
    }),
)
hub.to_parquet(str(folder / "datasets.parquet"))
expect(folder / "datasets.jsonl", pq.read_table(folder / "datasets.parquet"))
