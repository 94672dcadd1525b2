"""A `merit serve rewards` of its own for a test, from the files of examples/serving."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Iterator

EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "serving"

# Rewards that have no score, each in its way.
FAILING = """
def score(messages, ground_truth=None, **kwargs):
    said = messages[-1].text
    if "LOOP" in said:
        while True:
            pass
    if "RAISE" in said:
        raise ValueError("as the test asked for")
    return float(ground_truth is not None and str(ground_truth) in said)
"""


def program() -> str:
    """The program that is tested: MERIT_BINARY, or merit on PATH."""
    found = shutil.which(os.environ.get("MERIT_BINARY", "merit"))
    assert found, "build the command first and set MERIT_BINARY to its path"
    return found


@contextmanager
def serving(folder: Path, *settings: str) -> "Iterator[str]":
    """The URL of a server with the rewards answer, of the examples, and failing."""
    shutil.copytree(EXAMPLES, folder, dirs_exist_ok=True)
    (folder / "failing.py").write_text(FAILING)
    config = (folder / "serve.yaml").read_text() + "sandbox: {fuel: 200000000}\n"
    config = config.replace("rewards:\n", "rewards:\n  - name: failing\n    module: failing.py\n")
    (folder / "serve.yaml").write_text(config)
    command = [program(), "serve", "rewards", "-c", str(folder / "serve.yaml"), "--set", "listen=127.0.0.1:0", "--json"]
    process = subprocess.Popen([*command, *(f"--set={s}" for s in settings)], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        text = ""
        for line in process.stdout:
            text += line
            if line.rstrip() == "}":
                break
        assert text, "the server did not start"
        yield json.loads(text)["url"]
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0


def get(url: str) -> Any:
    """What the server answers, as JSON if it is."""
    with urllib.request.urlopen(url, timeout=30) as response:
        text = response.read().decode()
    return json.loads(text) if "json" in response.headers["Content-Type"] else text


def counted(url: str, shape: str) -> float:
    """How many evaluations without a score the server has answered in a shape, by its own metrics."""
    lines = get(f"{url}/metrics").splitlines()
    return sum(float(x.rsplit(" ", 1)[1]) for x in lines if x.startswith("merit_unscored_answered_total") and f'shape="{shape}"' in x)


def free_port() -> int:
    """A port that nobody listens at."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


def wait_for(url: str, seconds: float = 60) -> None:
    """Returns when something answers at url."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            get(url)
            return
        except OSError:
            assert time.monotonic() < deadline, f"nothing answers at {url}"
            time.sleep(0.1)
