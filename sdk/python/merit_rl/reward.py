"""A reward that trainers can call."""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import threading
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

from . import _server
from ._client import Client
from ._lines import Columns, Encoder, Line, in_sequence, log
from ._source import Source, read
from .errors import InvalidInput, Unscored
from .results import SCORED, Result, result

Trajectory = Union[Mapping[str, Any], Sequence[Mapping[str, Any]]]

_clients: Dict[Tuple[str, str, float, float], Client] = {}


def client(server: str, key: str, timeout: float, patience: float) -> Client:
    """The client of a server, one for all of its users in this process."""
    which = server, key, timeout, patience
    return _clients.get(which) or _clients.setdefault(which, Client(*which))


class Reward:
    """A reward that runs in Merit's sandbox: metered, from a fresh state each time, the same result every time.

    ``source`` is ``path[:function]`` of a file (.py, .js, .wasm) or of a folder
    with a reward.py, which is read now and uploaded on first use; or, on a server
    that has it, ``name``, ``name@alias`` or ``sha256:…``.

    ``server`` is ``https://host:port``, ``http://host:port`` or ``unix:PATH``, by
    default what MERIT_SERVER says, else a private server, which starts on first
    use, is shared by this process and its children, and ends with them. ``key`` is
    by default what MERIT_API_KEY says.

    ``parameters`` are what the configuration calls ``with``. ``fuel`` and
    ``memory_mib`` bound one evaluation; the server's defaults bound it otherwise.
    ``ground_truth`` is the column that the reward gets as its ground truth.
    ``on_unscored="raise"`` raises ``Unscored`` where there would be a ``None``.
    ``name`` is what trainers show. ``timeout`` is how many seconds the server may
    say nothing, ``patience`` how many it may have no room for a request.

    Calling it is TRL's shape, and the shape of whoever follows it. It may be
    pickled, with its files and its key, and used by threads, in forks and in
    other processes.
    """

    __name__: str

    def __init__(
        self,
        source: "Union[str, os.PathLike[str]]",
        *,
        server: Optional[str] = None,
        key: Optional[str] = None,
        parameters: Optional[Mapping[str, Any]] = None,
        fuel: Optional[int] = None,
        memory_mib: Optional[int] = None,
        ground_truth: str = "ground_truth",
        on_unscored: str = "none",
        name: Optional[str] = None,
        timeout: float = 600.0,
        patience: float = 300.0,
    ) -> None:
        if on_unscored not in ("none", "raise"):
            raise InvalidInput(f"on_unscored is {on_unscored!r}", hint='use "none" or "raise"')
        self._source: Source = read(source)
        self._server = os.environ.get("MERIT_SERVER", "") if server is None else server
        self._key = os.environ.get("MERIT_API_KEY", "") if key is None else key
        self._timeout, self._patience = timeout, patience
        self._query = _query(self._source.function, parameters, fuel, memory_mib)
        self._truth, self._raise = ground_truth, on_unscored == "raise"
        self.__name__ = name or self._source.name
        self._outcomes: Dict[str, int] = {}  # of all calls; what it holds was said
        self._compares: Optional[bool] = None
        self._lock = threading.Lock()
        client(self._server, self._key, timeout, patience)  # says what is wrong with the address
        if not self._server:
            _server.reserve()

    def __repr__(self) -> str:
        where = f", server={self._server!r}" if self._server else ""
        function = f":{self._source.function}" if self._source.function else ""
        return f"Reward({self._source.text + function!r}{where})"

    def __getstate__(self) -> Dict[str, Any]:
        state = {k: v for k, v in self.__dict__.items() if k != "_lock"}
        state["private"] = "" if self._server else os.environ.get(_server.FOLDER, "")
        return state

    def __setstate__(self, state: Dict[str, Any]) -> None:
        private = state.pop("private")
        self.__dict__.update(state)
        self._lock = threading.Lock()
        if private:
            _server.adopt(private)

    @property
    def _client(self) -> Client:
        return client(self._server, self._key, self._timeout, self._patience)

    def __call__(
        self,
        prompts: Optional[Sequence[Any]] = None,
        completions: Optional[Sequence[Any]] = None,
        **columns: Any,
    ) -> List[Optional[float]]:
        """One score for each completion, ``None`` for those that have none.

        ``prompts`` and ``completions`` are texts or lists of messages. Other
        arguments are columns: lists with a value for each completion. The one that
        ``ground_truth`` names is the ground truth, the others are metadata, which
        reaches the reward by name. ``log_metric(name, value)`` gets the means of
        the reward's metrics and how many had which outcome.
        """
        if completions is None:
            raise InvalidInput("completions are missing", hint="call it as reward(prompts=[…], completions=[…])")
        table = Columns(prompts, completions, columns, self._truth)
        groups = table.groups()
        order = in_sequence(groups) if groups else list(range(len(completions)))

        def lines() -> Iterator[Line]:
            encoder = Encoder()
            for i in order:
                row = table.row(i)
                group = row["group"] = groups[i] if groups else ""
                yield encoder.line(row), group

        scores: List[Optional[float]] = [None] * len(order)
        tally = _Tally()
        positions = iter(order)
        if order:
            for said in self._client.evaluate(self._source, self._query, lines(), lambda n: f"completion {order[n]}"):
                for one in said:
                    i = next(positions)
                    tally.add(i, one)
                    if one["outcome"] == SCORED:
                        scores[i] = float(one["score"])
        self._report(tally, len(order), columns.get("log_metric"))
        return scores

    async def acall(
        self, prompts: Optional[Sequence[Any]] = None, completions: Optional[Sequence[Any]] = None, **columns: Any
    ) -> List[Optional[float]]:
        """The same for asynchronous callers: a thread waits, the event loop does not."""
        return await asyncio.get_running_loop().run_in_executor(
            None, lambda: self(prompts=prompts, completions=completions, **columns)
        )

    @property
    def aio(self) -> "AsyncReward":
        """The reward as an asynchronous function, which TRL awaits beside others of its kind."""
        return AsyncReward(self)

    def stream(self, trajectories: Iterable[Trajectory]) -> Iterator[Result]:
        """Results in the order of ``trajectories``, as they come.

        A trajectory is what a line of ``merit eval`` holds: a dict with
        ``messages``, and perhaps ``id``, ``ground_truth``, ``group``, ``steps`` and
        columns of one's own; or the messages alone. They are read ahead as far as
        the server takes them, so memory is bounded, however many there are. Members
        of a group must follow one another.
        """
        encoder = Encoder()

        def line(number: int, t: Trajectory) -> Line:
            row: Dict[str, Any] = dict(t) if isinstance(t, Mapping) else {"messages": t}
            row.setdefault("id", f"line-{number}")
            return encoder.line(row), str(row.get("group") or "")

        lines = (line(n, t) for n, t in enumerate(trajectories, 1))
        for said in self._client.evaluate(self._source, self._query, lines, lambda n: f"trajectory {n + 1}"):
            yield from map(result, said)

    def evaluate(self, trajectories: Iterable[Trajectory]) -> List[Result]:
        """All of what ``stream`` gives."""
        return list(self.stream(trajectories))

    async def aevaluate(self, trajectories: Iterable[Trajectory]) -> List[Result]:
        """The same for asynchronous callers."""
        return await asyncio.get_running_loop().run_in_executor(None, self.evaluate, trajectories)

    def manifest(self) -> Dict[str, Any]:
        """What the server says about the reward. Files are uploaded and checked now, so that a mistake shows early."""
        return dict(self._client.version(self._source, self._query))

    @property
    def compares(self) -> bool:
        """Whether it compares the members of a group, as the server says; asked once, as ``manifest`` asks."""
        if self._compares is None:
            self._compares = self._client.compares(self._source, self._query)
        return self._compares

    def _report(self, tally: "_Tally", n: int, log_metric: "Optional[Callable[[str, float], None]]") -> None:
        with self._lock:
            new = [o for o in tally.outcomes if o not in self._outcomes and o != SCORED]
            for outcome, count in tally.outcomes.items():
                self._outcomes[outcome] = self._outcomes.get(outcome, 0) + count
            seen = [o for o in self._outcomes if o != SCORED]
        unscored = n - tally.outcomes.get(SCORED, 0)
        if log_metric:
            log_metric("merit/unscored", unscored)
            for outcome in seen:  # 0 too, so that means are means
                log_metric(f"merit/{outcome}", tally.outcomes.get(outcome, 0))
            for name, (total, count) in tally.metrics.items():
                log_metric(f"{self.__name__}/{name}", total / count)
        if unscored and self._raise:
            raise Unscored(
                f"{unscored} of {n} completions have no score",
                where=self.__name__,
                problems=[{"what": w} for w in tally.first.values()],
                hint='a failed reward is never 0: correct the reward, or use on_unscored="none"',
            )
        for outcome in new:
            text = "%s: %d of %d completions have no score, as %s; said once for each outcome"
            log.warning(text, self.__name__, tally.outcomes[outcome], n, tally.first[outcome])


class _Tally:
    """What the results of a batch have in common."""

    def __init__(self) -> None:
        self.outcomes: Dict[str, int] = {}
        self.first: Dict[str, str] = {}
        self.metrics: Dict[str, Tuple[float, int]] = {}

    def add(self, i: int, said: Mapping[str, Any]) -> None:
        outcome = said["outcome"]
        self.outcomes[outcome] = self.outcomes.get(outcome, 0) + 1
        if outcome != SCORED and outcome not in self.first:
            self.first[outcome] = f"completion {i}: {outcome}: {said.get('reason') or 'no reason given'}"
        for name, m in (said.get("metrics") or {}).items():
            if m.get("is_score_valid"):
                total, count = self.metrics.get(name, (0.0, 0))
                self.metrics[name] = total + m["score"], count + 1


class AsyncReward:
    """A reward as an asynchronous function."""

    def __init__(self, reward: Reward) -> None:
        self.reward = reward
        self.__name__ = reward.__name__
        # inspect.iscoroutinefunction asks for this; before Python 3.12 asyncio's own does.
        mark = getattr(inspect, "markcoroutinefunction", None)
        if mark:
            mark(self)

    async def __call__(
        self, prompts: Optional[Sequence[Any]] = None, completions: Optional[Sequence[Any]] = None, **columns: Any
    ) -> List[Optional[float]]:
        """One score for each completion, as of ``Reward``."""
        return await self.reward.acall(prompts=prompts, completions=completions, **columns)

    def __reduce__(self) -> Tuple[Any, ...]:
        return AsyncReward, (self.reward,)


def _query(
    function: str, parameters: Optional[Mapping[str, Any]], fuel: Optional[int], memory_mib: Optional[int]
) -> Dict[str, str]:
    query: Dict[str, str] = {}
    if function:
        query["function"] = function
    if parameters is not None:
        try:
            query["with"] = json.dumps(dict(parameters), allow_nan=False, sort_keys=True)
        except (TypeError, ValueError) as e:
            raise InvalidInput(f"the parameters are no JSON: {e}", where="parameters") from e
    for name, value in (("fuel", fuel), ("memory_mib", memory_mib)):
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise InvalidInput(f"{value!r} is no whole number above 0", where=name)
        query[name] = str(value)
    return query
