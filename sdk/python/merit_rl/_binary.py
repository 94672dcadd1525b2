"""Where the program merit is: the wheel brings it, as ruff's brings ruff."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from typing import Iterator

from .errors import Unavailable

VARIABLE = "MERIT_BINARY"


def find() -> str:
    """The absolute path of the program: what MERIT_BINARY says, where this package was installed, or on PATH."""
    said = os.environ.get(VARIABLE)
    if said:
        path = shutil.which(said)
        if path is None:
            raise Unavailable(
                f"{VARIABLE} names no program", where=said, hint="set it to the path of merit, or unset it"
            )
        return os.path.abspath(path)
    name = "merit" + (sysconfig.get_config_var("EXE") or "")
    for folder in _folders():
        path = os.path.join(folder, name)
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return os.path.abspath(path)
    path = shutil.which(name)
    if path is None:
        hint = (
            f"install Merit's wheel (pip install merit_rl-*.whl), which brings it; or set {VARIABLE} to its path, "
            'or give server="https://…"'
        )
        raise Unavailable("the program merit is not installed here", hint=hint)
    return os.path.abspath(path)


def _folders() -> Iterator[str]:
    yield sysconfig.get_path("scripts")
    yield os.path.dirname(sys.executable)
    scheme = sysconfig.get_preferred_scheme("user") if sys.version_info >= (3, 10) else f"{os.name}_user"
    yield sysconfig.get_path("scripts", scheme)
    packages = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    yield os.path.join(packages, "bin")  # pip install --target
    # pip install --prefix: PREFIX/lib/python3.x/site-packages
    yield os.path.join(packages, os.pardir, os.pardir, os.pardir, "bin")
