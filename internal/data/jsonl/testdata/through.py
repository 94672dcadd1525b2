"""Takes a Parquet file through datasets and pandas: through.py IN FOLDER."""

import sys
from pathlib import Path

import datasets
import pandas

source, folder = sys.argv[1], Path(sys.argv[2])
datasets.disable_progress_bars()
data = datasets.load_dataset("parquet", data_files=source, split="train", cache_dir=str(folder / "cache"))
data.to_parquet(folder / "datasets.parquet")
data.to_json(folder / "datasets.jsonl")
# By default, pandas makes floats of whole numbers beside nulls.
pandas.read_parquet(source, dtype_backend="pyarrow").to_parquet(folder / "pandas.parquet")
# pyarrow 26 cannot read a list that begins with null from JSON, whoever wrote it.
data.remove_columns("nulls").to_json(folder / "fewer.jsonl")
lines = datasets.load_dataset("json", data_files=str(folder / "fewer.jsonl"), split="train", cache_dir=str(folder / "cache"))
assert lines.num_rows == data.num_rows
