"""Lets this package answer to the names under which rewards import it."""

from __future__ import annotations

import sys

import merit_reward

NAMES = ("merit", "reward_kit", "eval_protocol")
SUBMODULES = {"models": "models", "typed_interface": "decorator", "reward_function": "decorator"}


def install() -> None:
    """Installs ``merit``, ``reward_kit`` and ``eval_protocol``, but those that are there already."""
    for name in NAMES:
        if name in sys.modules:
            continue
        sys.modules[name] = merit_reward
        for sub, ours in SUBMODULES.items():
            sys.modules[f"{name}.{sub}"] = sys.modules[f"merit_reward.{ours}"]
