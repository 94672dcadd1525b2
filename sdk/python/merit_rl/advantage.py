"""Credit for every step: GiGPO's advantages and those of its relatives."""

from __future__ import annotations

import json
import os
import sys
from typing import Any, Dict, Iterable, List, Mapping, Optional, Union, overload

from ._lines import Encoder
from .errors import InvalidInput
from .reward import client

Rows = Iterable[Mapping[str, Any]]


@overload
def advantages(
    rows: Rows, *, server: Optional[str] = ..., key: Optional[str] = ..., **config: Any
) -> List[Dict[str, Any]]: ...
@overload
def advantages(
    rows: None = ...,
    *,
    columns: Mapping[str, Any],
    server: Optional[str] = ...,
    key: Optional[str] = ...,
    **config: Any,
) -> Dict[str, Any]: ...
def advantages(
    rows: Optional[Rows] = None,
    *,
    columns: Optional[Mapping[str, Any]] = None,
    server: Optional[str] = None,
    key: Optional[str] = None,
    **config: Any,
) -> Union[List[Dict[str, Any]], Dict[str, Any]]:
    """The advantages of steps.

    A row is one step: ``group`` and ``trajectory`` (texts or whole numbers),
    ``step`` (from 0), ``observation`` (a text), ``reward``, ``episode_score``
    (``None`` without a score) and optionally ``anchor`` (a text that names the
    state, instead of ``observation``), ``scored``, ``valid``, ``value``, ``bootstrap``, ``terminated``, ``truncated``. ``config`` is that of
    ``merit advantages``: ``estimator="gigpo"``, ``gamma``, ``omega``, ….

    ``advantages(rows)`` returns the rows, each with ``return``,
    ``episode_advantage``, ``step_advantage``, ``advantage`` and ``anchor_group``.
    ``advantages(columns={…})`` takes the same as columns, each of shape [steps],
    lists or numpy arrays, and returns a dict of those five columns: float64 and
    int64 arrays of shape [steps] if any was an array, else lists. NaN in
    ``reward`` or ``episode_score`` stands for none there, and so it does in
    ``return``.
    """
    if (rows is None) == (columns is None):
        raise InvalidInput(
            "give rows or columns", where="advantages", hint="advantages(rows) or advantages(columns={…})"
        )
    request: Dict[str, Any] = {"config": config}
    if columns is None:
        request["rows"] = [dict(r) for r in rows or ()]
    else:
        request["columns"] = {name: _plain(values) for name, values in columns.items()}
    text = Encoder(quiet=True).line(request)
    address = os.environ.get("MERIT_SERVER", "") if server is None else server
    secret = os.environ.get("MERIT_API_KEY", "") if key is None else key
    said = json.loads(client(address, secret, 600.0, 300.0).call("POST", "/v1/advantages", text))
    if columns is None:
        out: List[Dict[str, Any]] = said["rows"]
        return out
    return _arrays(columns, said["columns"])


def _plain(values: Any) -> Any:
    return values.tolist() if hasattr(values, "tolist") else list(values)


def _arrays(given: Mapping[str, Any], said: Dict[str, List[Any]]) -> Dict[str, Any]:
    numpy = sys.modules.get("numpy")
    if numpy is None or not any(isinstance(v, numpy.ndarray) for v in given.values()):
        return said
    return {
        # None becomes NaN in a column of floats
        name: numpy.array(values, dtype=numpy.int64 if name == "anchor_group" else numpy.float64)
        for name, values in said.items()
        if name in ("return", "episode_advantage", "step_advantage", "advantage", "anchor_group")
    }
