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
pandas.read_parquet(source).to_parquet(folder / "pandas.parquet")
lines = datasets.load_dataset("json", data_files=str(folder / "datasets.jsonl"), split="train", cache_dir=str(folder / "cache"))
assert lines.num_rows == data.num_rows
