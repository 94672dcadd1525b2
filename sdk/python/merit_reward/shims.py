"""Lets this package answer to the names under which rewards import it.

``reward_kit`` and ``eval_protocol`` are packages of their own, with the names
of ours. Where the real package lies on the path, its ``rewards`` are taken from
there, one file at a time: what one of them needs the others do not.
"""

from __future__ import annotations

import sys

import merit_reward

from .absent import NotHereError

PEERS = ("reward_kit", "eval_protocol")
SUBMODULES = {"models": "models", "typed_interface": "decorator", "reward_function": "decorator"}
ROWS = {"pytest": "models", "types": "models"}  # of eval_protocol: they have what its tests are written with


def install() -> None:
    """Installs ``merit``, ``reward_kit`` and ``eval_protocol``, but those that are there already."""
    if "merit" not in sys.modules:
        sys.modules["merit"] = merit_reward
        for sub, ours in SUBMODULES.items():
            sys.modules[f"merit.{sub}"] = sys.modules[f"merit_reward.{ours}"]
        sys.meta_path.insert(0, _Code)  # type: ignore[arg-type]
    if _Trainers not in sys.meta_path:
        # Before what counts a package that nobody has as refused.
        names = [getattr(finder, "__name__", "") for finder in sys.meta_path]
        sys.meta_path.insert(names.index("_Absent") if "_Absent" in names else len(names), _Trainers)  # type: ignore[arg-type]
    names = [name for name in PEERS if name not in sys.modules]
    for name in names:
        _module(name, merit_reward).__path__ = []
        for sub, ours in {**SUBMODULES, **(ROWS if name == "eval_protocol" else {})}.items():
            _module(f"{name}.{sub}", sys.modules[f"merit_reward.{ours}"])
    if names:
        sys.meta_path.insert(0, _Shipped)  # type: ignore[arg-type]


def _module(name: str, like):  # type: ignore[no-untyped-def]
    """A module with the names of another, and with those of rows when they are asked for."""
    module = type(sys)(name)
    module.__dict__.update({k: v for k, v in vars(like).items() if k[:2] != "__"})

    def attribute(key: str):  # type: ignore[no-untyped-def]
        if key[:2] == "__":
            raise AttributeError(f"{name} has no {key}")
        from . import rows

        if name.startswith("eval_protocol") and hasattr(rows, key):
            return getattr(rows, key)
        rows.refuse(name, key)
        raise AttributeError(f"{name} has no {key}")

    module.__getattr__ = attribute
    sys.modules[name] = module
    return module


class _Code:
    """Finds merit.code, which is loaded when it is asked for: most rewards run no code."""

    @staticmethod
    def find_spec(name, _path=None, _target=None):  # type: ignore[no-untyped-def]
        return type(sys.__spec__)(name, _Code) if name == "merit.code" else None  # type: ignore[arg-type]

    @staticmethod
    def create_module(_spec):  # type: ignore[no-untyped-def]
        from . import code

        return code

    @staticmethod
    def exec_module(_module) -> None:  # type: ignore[no-untyped-def]
        pass


class _Trainers:
    """Finds what rewards import of trainers, where these are not installed."""

    @staticmethod
    def find_spec(name, path=None, target=None):  # type: ignore[no-untyped-def]
        if name.partition(".")[0] not in ("swift", "slime", "rllm", "verifiers"):
            return None
        from .peers import Finder

        return Finder.find_spec(name, path, target)


class _Shipped:
    """Finds what else is asked of the two packages: their own rewards, where the packages are on the path."""

    @staticmethod
    def find_spec(name, _path=None, _target=None):  # type: ignore[no-untyped-def]
        package, _, rest = name.partition(".")
        if package not in PEERS or not rest or package not in sys.modules:
            return None
        from importlib.machinery import ModuleSpec, PathFinder

        there = PathFinder.find_spec(package)
        if there is None or not there.submodule_search_locations:
            title = package.replace("_", "-")
            raise NotHereError(
                f"{name} is not part of the sandbox: put the package beside the reward: pip install --target . --no-deps {title}", name=name
            )
        folders = list(there.submodule_search_locations)
        if rest != "rewards":
            return PathFinder.find_spec(name, folders if "." not in rest else sys.modules[name.rpartition(".")[0]].__path__)
        spec = ModuleSpec(name, _Shipped, is_package=True)  # type: ignore[arg-type]
        spec.submodule_search_locations = [f"{folder}/rewards" for folder in folders]
        return spec

    @staticmethod
    def create_module(_spec):  # type: ignore[no-untyped-def]
        return None

    @staticmethod
    def exec_module(module) -> None:  # type: ignore[no-untyped-def]
        """In place of the package's __init__, which imports every file: what is asked for is imported."""

        def attribute(name: str):  # type: ignore[no-untyped-def]
            import importlib

            file = _file_of(module.__path__, name.removesuffix("_function")) if name[:1] != "_" else ""
            if not file:
                raise AttributeError(f"{module.__name__} has no {name}")
            return getattr(importlib.import_module(f"{module.__name__}.{file}"), name.removesuffix("_function"))

        module.__getattr__ = attribute


def _file_of(folders: "list[str]", function: str) -> str:
    """The file in one of the folders that defines a function."""
    import os

    for folder in folders:
        for file in sorted(os.listdir(folder)):
            if file.endswith(".py"):
                with open(os.path.join(folder, file), encoding="utf-8") as f:
                    if f"\ndef {function}(" in f.read():
                        return file[:-3]
    return ""
