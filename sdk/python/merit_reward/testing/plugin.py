"""The plug-in of pytest: the fixture ``merit_reward`` and the marker ``merit_data``.

    def test_right(merit_reward):
        result = merit_reward("reward.py:score")(messages, ground_truth="4")
        assert result.score == 1.0

    @pytest.mark.merit_data("reward.py:score", "fixtures/cases.jsonl")
    def test_cases(merit_result):
        assert merit_result.scored

Paths are relative to the file of the test. A test fails, with every difference,
if the reward says another thing natively than in the sandbox.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Tuple

import pytest

from . import Both, Result


class Factory:
    """What the fixture ``merit_reward`` is: it opens rewards beside the test."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __call__(self, reference: str, parameters: Optional[Mapping[str, Any]] = None, **options: Any) -> Both:
        """The reward at reference, ``file.py[:function]``; ``options`` are those of ``Both``."""
        return Both(self._folder / reference, parameters, **options)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "merit_data(reference, data, parameters=None, **options): run the test with the result of each line of data, as merit_result"
    )


@pytest.fixture
def merit_reward(request: pytest.FixtureRequest) -> Factory:
    """Opens a reward that runs natively and in the sandbox."""
    return Factory(request.path.parent)


class Cases:
    """The lines of a file, scored together when the first of them is asked for."""

    def __init__(self, folder: Path, reference: str, data: str, parameters: Any = None, **options: Any) -> None:
        self._open = lambda: Both(folder / reference, parameters, **options)
        with open(folder / data, encoding="utf-8") as f:
            self.rows: List[Dict[str, Any]] = [json.loads(line) for line in f if line.strip()]
        for i, row in enumerate(self.rows):
            row.setdefault("id", f"line-{i + 1}")
        self._results: Optional[List[Result]] = None

    def result(self, i: int) -> Result:
        """The result of line i."""
        if self._results is None:
            self._results = self._open().evaluate(self.rows)
        return self._results[i]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    marker = metafunc.definition.get_closest_marker("merit_data")
    if marker is None or "merit_result" not in metafunc.fixturenames:
        return
    cases = Cases(metafunc.definition.path.parent, *marker.args, **marker.kwargs)
    each: List[Tuple[Cases, int]] = [(cases, i) for i in range(len(cases.rows))]
    metafunc.parametrize("merit_result", each, ids=[str(r["id"]) for r in cases.rows], indirect=True)


@pytest.fixture
def merit_result(request: pytest.FixtureRequest) -> Result:
    """The result of one line of the data that the marker ``merit_data`` names."""
    if not hasattr(request, "param"):
        pytest.fail('merit_result needs a mark: @pytest.mark.merit_data("reward.py", "cases.jsonl")', pytrace=False)
    cases, i = request.param
    result: Result = cases.result(i)
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: "pytest.CallInfo[None]") -> Any:
    """Shows a difference as it is, without the frames of this package."""
    from . import Difference

    report = yield
    if call.excinfo is not None and isinstance(call.excinfo.value, Difference):
        report.longrepr = str(call.excinfo.value)
    return report
