"""What the rows of a table of Arrow are in Merit's JSON."""

import base64
import datetime as dt
import decimal
import json
from pathlib import Path

import numpy
import pandas
import pyarrow as pa


def expect(path: Path, table: pa.Table) -> None:
    """Writes the rows of a table to a file of JSON Lines."""
    with open(path, "w", encoding="utf-8") as out:
        for row in table.to_pylist():
            print(json.dumps({f.name: plain(row[f.name], f.type) for f in table.schema}, ensure_ascii=False), file=out)


def plain(value: object, kind: pa.DataType) -> object:
    """What a value of Arrow is in Merit's JSON."""
    if value is None:
        return None
    if isinstance(kind, pa.BaseExtensionType):
        kind = kind.storage_type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_struct(kind):
        return {f.name: plain(value[f.name], f.type) for f in kind}
    if pa.types.is_map(kind):
        return {str(plain(k, kind.key_type)): plain(v, kind.item_type) for k, v in value}
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return [plain(v, kind.value_type) for v in value]
    if pa.types.is_floating(kind):
        if value != value:
            return None
        return value if kind == pa.float64() else float(str({pa.float32(): numpy.float32, pa.float16(): numpy.float32}[kind](value)))
    if isinstance(value, decimal.Decimal):
        return format(value, "f")
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, dt.datetime) and value.tzinfo:
        value = value.astimezone(dt.timezone.utc)
    if isinstance(value, pandas.Timestamp):
        return moment(value.strftime("%Y-%m-%dT%H:%M:%S"), value.microsecond * 1000 + value.nanosecond, value.tzinfo)
    if isinstance(value, dt.datetime):
        return moment(value.strftime("%Y-%m-%dT%H:%M:%S"), value.microsecond * 1000, value.tzinfo)
    if isinstance(value, dt.time):
        return moment(value.strftime("%H:%M:%S"), value.microsecond * 1000, None)
    if isinstance(value, dt.date):
        return value.isoformat()
    return value


def moment(seconds: str, nanos: int, zone: object) -> str:
    """A time as in ISO 8601, with the digits of a fraction that it has."""
    part = f".{nanos:09}".rstrip("0") if nanos else ""
    return seconds + part + ("Z" if zone else "")
