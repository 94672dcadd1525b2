import argparse
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Optional

parser = argparse.ArgumentParser()
parser.add_argument("--weight", type=float, default=0.25)
args, _ = parser.parse_known_args([])
DEBUG = os.getenv("DEBUG", "false").lower() == "true"
HOME = Path(os.environ.get("CACHE_DIR", "/tmp")) / "cache"


@dataclass
class Config:
    weight: float = args.weight
    names: list = field(default_factory=lambda: ["a", "b"])
    path: Optional[Path] = None


config = Config(path=HOME)


def configured(completions, **kwargs):
    return [config.weight * len(config.names) + len(str(config.path.name)) for _ in completions]


if __name__ == "__main__":
    print(configured([["x"]]))
