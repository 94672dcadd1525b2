"""Puts the program and the interpreters of scripts into the wheel.

They lie where an installation under a prefix has them, ``bin/merit`` and
``share/merit/interpreters``: the program finds the interpreters from where it
is itself, and holds them to the digests that it was built with.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Program(BuildHookInterface):
    """Reads ``MERIT_WHEEL_BINARY``, ``_INTERPRETERS`` (a folder) and ``_PLATFORM`` (a wheel's platform tag)."""

    def initialize(self, version: str, build_data: "dict[str, Any]") -> None:
        binary = os.environ.get("MERIT_WHEEL_BINARY")
        if not binary or version == "editable":
            return
        # The program needs no libc, so any of its platform will do.
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{os.environ['MERIT_WHEEL_PLATFORM']}"
        build_data["shared_scripts"][binary] = "merit"
        interpreters = sorted(Path(os.environ["MERIT_WHEEL_INTERPRETERS"]).glob("*.wasm"))
        if len(interpreters) != 2:
            raise ValueError(f"{len(interpreters)} interpreters lie in MERIT_WHEEL_INTERPRETERS, not Python's and JavaScript's")
        for file in interpreters:
            build_data["shared_data"][str(file)] = f"share/merit/interpreters/{file.name}"
