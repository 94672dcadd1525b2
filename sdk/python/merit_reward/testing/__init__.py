"""Runs a reward natively and in the sandbox, and says where the two differ.

pytest finds this by itself once the package is installed: a test takes the
fixture ``merit_reward``, or is marked with ``merit_data``.
"""

from __future__ import annotations

from ._both import Both, Difference, Result, Trajectory

__all__ = ["Both", "Difference", "Result", "Trajectory"]
