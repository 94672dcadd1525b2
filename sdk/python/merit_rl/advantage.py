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
    """Compute the advantage of every step, with GiGPO or another estimator.

    Args:
        rows: one dict per step: ``group`` and ``trajectory`` (texts or whole numbers),
            ``step`` (from 0), ``observation`` (a text), ``reward``, ``episode_score``
            (``None`` without a score), and optionally ``anchor`` (a text that identifies
            the state instead of ``observation``), ``scored``, ``valid``, ``value``,
            ``bootstrap``, ``terminated``, ``truncated``, ``role`` (who decided, for
            ``rae``), ``greedy_score`` (of a greedy episode from the same start, for
            ``remax``) and ``rewards`` (for ``gdpo``: the score of each reward by its name,
            or a dict of its ``score`` and ``weight``).
        columns: the same as one list or numpy array per name, each of shape [steps].
            NaN in ``reward`` or ``episode_score`` means that there is none.
        server, key: as for ``Reward``.
        **config: settings of ``merit advantages``: ``estimator="gigpo"``, ``gamma``,
            ``omega``, ….

    Returns:
        For ``rows``, the rows with ``return``, ``episode_advantage``,
        ``step_advantage``, ``advantage`` and ``anchor_group`` added. For ``columns``, a
        dict of these five: arrays of shape [steps] (float64; int64 for ``anchor_group``)
        if any input was an array, else lists. ``return`` is NaN where there is none.

    Raises:
        InvalidInput: both or neither of ``rows`` and ``columns`` are given, or a row is
            wrong; the error lists all problems.
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
