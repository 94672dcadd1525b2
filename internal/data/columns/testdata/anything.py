"""Writes Parquet files of random tables in random ways, and their rows as JSON
Lines: anything.py FOLDER FIRST LAST writes one for each number from FIRST to
LAST, always the same."""

import datetime as dt
import decimal
import random
import sys
from pathlib import Path

import numpy
import pyarrow as pa
import pyarrow.parquet as pq

from expected import expect

ENCODINGS = {
    "BOOLEAN": ["PLAIN", "RLE"],
    "INT32": ["PLAIN", "DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT"],
    "INT64": ["PLAIN", "DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT"],
    "FLOAT": ["PLAIN", "BYTE_STREAM_SPLIT"],
    "DOUBLE": ["PLAIN", "BYTE_STREAM_SPLIT"],
    "BYTE_ARRAY": ["PLAIN", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"],
    "FIXED_LEN_BYTE_ARRAY": ["PLAIN", "DELTA_BYTE_ARRAY", "BYTE_STREAM_SPLIT"],
    "INT96": ["PLAIN"],
}
EPOCH = dt.datetime(1970, 1, 1)
YEARS = (-(10**9), 4 * 10**9)  # 1938 to 2096, in seconds


class Table:
    """A table of which everything is drawn from r."""

    def __init__(self, r: random.Random) -> None:
        self.r = r

    def scalar(self, depth: int) -> pa.DataType:
        r = self.r
        precision = r.randint(1, 76)
        return r.choice([
            *(getattr(pa, f"{sign}int{n}")() for sign in ("", "u") for n in (8, 16, 32, 64)),
            pa.bool_(), pa.float16(), pa.float32(), pa.float64(), pa.string(), pa.string(), pa.large_string(), pa.binary(),
            pa.binary(r.choice([1, 2, 7, 16, 40])), pa.decimal256(precision, r.randint(0, precision)),
            pa.decimal128(min(precision, 38), r.randint(0, min(precision, 38))), pa.date32(), pa.date64(), pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns"),
            *(pa.timestamp(unit, r.choice([None, "UTC", "Europe/Berlin"])) for unit in ("s", "ms", "us", "ns")),
            pa.null(),
            *((pa.dictionary(pa.int32(), pa.string()), pa.dictionary(pa.int16(), pa.int64())) if depth == 0 else ()),  # pyarrow 26 fails to write some below
        ])

    def field(self, name: str, depth: int) -> pa.Field:
        r = self.r
        kind = r.choice(["scalar", "list", "large_list", "fixed", "struct", "map"]) if depth < 4 and r.random() < 0.6 else "scalar"
        if kind == "list":
            t = pa.list_(self.field("element", depth + 1))
        elif kind == "large_list":
            t = pa.large_list(self.field("item", depth + 1))
        elif kind == "fixed":
            t = pa.list_(self.field("element", depth + 1), r.randint(1, 3))
        elif kind == "struct":
            t = pa.struct([self.field(f"f{i}", depth + 1) for i in range(r.randint(1, 3))])
        elif kind == "map":
            t = pa.map_(r.choice([pa.string(), pa.int8(), pa.int64(), pa.uint32(), pa.date32()]), self.field("value", depth + 1))
        else:
            t = self.scalar(depth)
        return pa.field(name, t, nullable=pa.types.is_null(t) or r.random() < 0.7)

    def value(self, f: pa.Field, depth: int = 0) -> object:
        r, t = self.r, f.type
        if pa.types.is_null(t) or f.nullable and r.random() < self.nulls:
            return None
        if pa.types.is_map(t):
            return list({self.value(t.key_field): self.value(t.item_field, depth + 1) for _ in range(self.length(depth))}.items())
        if pa.types.is_fixed_size_list(t):
            return [self.value(t.value_field, depth + 1) for _ in range(t.list_size)]
        if pa.types.is_list(t) or pa.types.is_large_list(t):
            return [self.value(t.value_field, depth + 1) for _ in range(self.length(depth))]
        if pa.types.is_struct(t):
            return {g.name: self.value(g, depth + 1) for g in t}
        return self.simple(t.value_type if pa.types.is_dictionary(t) else t)

    def length(self, depth: int) -> int:
        return self.r.choice([0, 0, 1, 2, 3, self.r.randint(0, 60 >> 2 * depth)])

    def simple(self, t: pa.DataType) -> object:
        r = self.r
        if pa.types.is_integer(t):
            low = 0 if str(t).startswith("u") else -(2 ** (t.bit_width - 1))
            high = low + 2**t.bit_width - 1
            return r.choice([low, high, r.randint(low, high), r.randint(max(low, -9), 9)])
        if pa.types.is_boolean(t):
            return r.random() < 0.5
        if pa.types.is_floating(t):
            x = r.choice([0.0, -0.0, 1.0, r.uniform(-1, 1), r.uniform(-6e4, 6e4), r.choice([1e-5, 1e16, 1e300, 5e-324, 123456789012345678.0, 0.0001])])
            return numpy.float16(min(x, 6e4)) if t == pa.float16() else float(numpy.float32(min(x, 3e38))) if t == pa.float32() else x
        if pa.types.is_decimal(t):
            return decimal.Decimal(r.randint(-(10**t.precision) + 1, 10**t.precision - 1) // r.choice([1, 1, 10**t.precision])).scaleb(-t.scale, decimal.Context(prec=80))
        if pa.types.is_fixed_size_binary(t):
            return r.choice([b"\x00" * t.byte_width, r.randbytes(t.byte_width)])
        if pa.types.is_binary(t):
            return r.randbytes(r.choice([0, 1, 5, 40]))
        if pa.types.is_date(t):
            return dt.date(1970, 1, 1) + dt.timedelta(r.randint(-300_000, 2_000_000))
        if pa.types.is_time(t):
            return (EPOCH + dt.timedelta(microseconds=r.randrange(86_400 * 10**6) // 10**6 * 10**6 + (0 if t.unit == "s" else 1000 * r.randrange(1000)))).time()
        if pa.types.is_timestamp(t):
            return r.randint(*YEARS) * {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[t.unit] + (0 if t.unit == "s" else r.randrange(1000))
        return r.choice(["", "red", "green", "prefix/" + str(r.randint(0, 999)), "é\"\\\n\t\u0001\u2028😀", "x" * r.randint(0, 90), str(r.random())])

    def make(self) -> pa.Table:
        r = self.r
        schema = pa.schema([self.field(f"c{i}", 0) for i in range(r.randint(1, 5))])
        count = r.choice([0, 1, 7, 100, 400, 1100])
        columns = []
        for f in schema:
            self.nulls = r.choice([0, 0.02, 0.2, 0.9, 1])
            columns.append(pa.array([self.value(f) for _ in range(count)], f.type))
        return pa.Table.from_arrays(columns, schema=schema)

    def options(self, table: pa.Table) -> dict:
        r = self.r
        chosen = {
            "version": "2.6" if "[ns" in str(table.schema) else r.choice(["1.0", "2.4", "2.6"]), "data_page_version": r.choice(["1.0", "2.0"]), "data_page_size": r.choice([1, 100, 1000, 100_000]),
            "write_batch_size": r.choice([1, 10, 1000]), "row_group_size": r.choice([1, 50, 333, 10_000]) if len(table) < 500 else r.choice([97, 1000]),
            "compression": r.choice(["none", "snappy", "gzip", "zstd", "lz4", "brotli"]), "use_compliant_nested_type": r.random() < 0.8,
            "store_schema": r.random() < 0.5, "write_page_checksum": r.random() < 0.5, "write_page_index": r.random() < 0.3,
            "use_dictionary": r.random() < 0.5, "dictionary_pagesize_limit": r.choice([1, 60, 500, 1 << 20]), "store_decimal_as_integer": r.random() < 0.5,
        }
        if not chosen["use_dictionary"]:
            sink = pa.BufferOutputStream()
            pq.write_table(table.slice(0, 0), sink, **chosen)
            leaves = pq.ParquetFile(pa.BufferReader(sink.getvalue())).schema
            chosen["column_encoding"] = {leaves.column(i).path: r.choice(ENCODINGS[leaves.column(i).physical_type]) for i in range(len(leaves))}
        return chosen


if __name__ == "__main__":
    folder, first, last = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    for number in range(first, last + 1):
        drawn = Table(random.Random(number))
        table = drawn.make()
        pq.write_table(table, folder / f"{number}.parquet", **drawn.options(table))
        expect(folder / f"{number}.jsonl", table)
