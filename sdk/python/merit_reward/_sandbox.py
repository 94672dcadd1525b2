"""The reward's side of the sandbox.

``ready`` runs first: it does what is the same for every reward, tells the host
where ``load`` is in memory and leaves by ``_exit``, which ends the call of the
host but not the interpreter: its memory is as if ``_exit`` were still running.
Merit keeps this state for all rewards. It then calls ``load`` through the table,
which loads a reward and says where ``serve`` is. Merit takes the snapshot of the
reward, and calls ``serve`` for every evaluation.
"""

from __future__ import annotations

import gc
import io
import posix
import sys
from marshal import dumps, loads

from . import _packages, _shelf, absent, caches, refusals, remembered, runner, shims
from .models import Message, tool_calls
from .results import plain


class _File(io.FileIO):
    """The log as a file, which stays open: a wrapper that a reward puts around it and drops would close it."""

    def isatty(self) -> bool:
        return False

    def close(self) -> None:
        pass


def _log():  # type: ignore[no-untyped-def]
    """Standard output or error: a text file whose text goes to the log of the evaluation at once."""
    return io.TextIOWrapper(_File(2, "w", closefd=False), encoding="utf-8", errors="backslashreplace", write_through=True)


def _begin() -> None:
    """Readies the interpreter for a reward or a program."""
    posix.environ.pop(b"PYTHONHOME", None)  # it is for the interpreter; os has not read it yet
    sys.stdout = sys.__stdout__ = _log()  # type: ignore[misc]
    sys.stderr = sys.__stderr__ = _log()  # type: ignore[misc]
    if colors := sys.modules.get("_colorize"):  # of Python 3.13: the log is no terminal
        colors.COLORIZE = False
    _like_a_server()
    absent.install()


def _like_a_server() -> None:
    """Gives programs what they have on the machines that train: exit() and quit(), a sys.maxsize of 64 bits, and caches at any depth."""
    import _sitebuiltins
    import builtins

    for name in ("exit", "quit"):
        setattr(builtins, name, _sitebuiltins.Quitter(name, "Ctrl-D (i.e. EOF)"))
    sys.maxsize = (1 << 63) - 1
    caches.install()


BUFFER = bytearray(1 << 18)  # the host writes requests into it
ANSWER = [b""]  # and reads the answer from here
RESULTS, FAILED, NO_MEMORY = 0, 1, 2


def _request():  # type: ignore[no-untyped-def]
    request = loads(BUFFER)
    if request.__class__ is int:  # too large for the buffer
        return loads(posix.read(0, request))
    return request


def _answer(work):  # type: ignore[no-untyped-def]
    """Makes a function that the host calls: it never raises."""

    def serve() -> None:
        try:
            ANSWER[0] = dumps((RESULTS, work()), 2)
        except MemoryError as e:
            ANSWER[0] = dumps((NO_MEMORY, runner.explain(e)), 2)
        except BaseException as e:  # SystemExit and KeyboardInterrupt are answers too
            ANSWER[0] = dumps((FAILED, runner.explain(e)), 2)

    return serve


def settle() -> None:
    """Ends what an evaluation has left behind; its scores do not stand if it was refused something.

    The host calls it if there is anything in refusals.PENDING.
    """
    kind, answers = loads(ANSWER[0])
    if kind != RESULTS:
        refusals.drop()
    elif (refused := refusals.settle()) and any(map(_scored, answers)):
        ANSWER[0] = dumps((FAILED, refusals.explain(refused)), 2)


def _scored(result) -> bool:  # type: ignore[no-untyped-def]
    return not isinstance(result, dict) or bool(result.get("is_score_valid", True)) and not result.get("error")


def _pointwise(reward: runner.Reward, laid):  # type: ignore[no-untyped-def]
    """The short ways, in which the function is called with what the host has written.

    The first reads all of the request. For the second the arguments lie on the
    shelf, for the third all but some do.
    """
    func = reward.func
    takes_messages = reward.open or "messages" in reward.accepts

    def read():  # type: ignore[no-untyped-def]
        with_calls, arguments = _request()
        if takes_messages:
            arguments["messages"] = messages = [*map(Message, arguments["messages"])]
            for i in with_calls:
                messages[i]["tool_calls"] = tool_calls(messages[i]["tool_calls"])
        return [plain(func(**arguments))]

    def completed():  # type: ignore[no-untyped-def]
        laid.update(loads(BUFFER))
        return [plain(func(**laid))]

    def ready():  # type: ignore[no-untyped-def]
        return [plain(func(**laid))]

    return _answer(read), _answer(ready), _answer(completed)


def _whole(reward: runner.Reward):  # type: ignore[no-untyped-def]
    """The long way, for groups and for rewards that want whole rollouts."""
    return (_answer(lambda: reward.results([runner.rollout(m) for m in _request()])),)


def ready() -> None:
    """Readies the interpreter for any reward, and tells the host what loads one."""
    _begin()
    refusals.begin(runner.BUILT)
    absent.watch()
    absent.quicken_imports()
    shims.install()
    _leave(("", [id(()), id(BUFFER), id(ANSWER), 0, 0, id(load)], *_NOTHING[1:]))


def load() -> None:
    """Loads the reward that the host names, and answers what it is or why it cannot be loaded."""
    ANSWER[0] = dumps(_load(*_request()), 2)
    _settle_memory()


def _load(path: str, function: str, given: "dict[str, object] | None", batch: str, packages: str):  # type: ignore[no-untyped-def]
    """Loads the reward.

    Its folder comes onto the path only now, and its module is called reward
    whatever its file is called: a file named re.py must not stand in for re.
    """
    global _serve  # they must live as long as the interpreter
    try:
        if packages:
            sys.path.append(packages)
        folder, _, file = path.rpartition("/")
        posix.chdir(folder)
        runner.ALONE[:] = [file] if posix.listdir(folder) == [file] else []
        if file == "reward.py":  # a folder with what it imports, or a file alone
            sys.path.insert(0, folder)
        module = runner.load(path, "reward")
        reward = runner.find(module, function, given, runner.batch_of(batch))
        whole = reward.group or reward.whole
        arguments, shelf = ({}, {}) if whole else _shelf.make(reward)
        _serve = _whole(reward) if whole else _pointwise(reward, arguments)
        if sys.stdout is not sys.__stdout__ or sys.stderr is not sys.__stderr__:
            _serve = tuple(map(_flushed, _serve))
        entry = {**reward.entry(), "counts": remembered.numbers(module)}
        if threads := sys.modules.get("merit_reward.threads"):
            threads.keep()
        about = runner.prepare(module)
        refused = [r for r in refusals.settle() if r[0] not in refusals.without]
        if "warm_up" not in about:
            _packages.warm(path)
            refusals.settle()  # those are not the reward's
        runner.explain(_raised())  # loads what tracebacks need
        addresses = [id(()), id(BUFFER), id(ANSWER), id(refusals.PENDING), id(settle), *map(id, _serve)]
        return ("", addresses, reward.group, whole, reward.open, list(reward.accepts), about, shelf, entry, refused)
    except BaseException as e:
        return (runner.explain(e), *_NOTHING)


def boot_program() -> None:
    """Loads what answers requests in a program, which a reward opens beside itself."""
    global _serve
    _begin()
    from . import _program

    def serve() -> None:
        try:
            kind, text = RESULTS, _program.answer(_request())
            refusals.drop()
        except MemoryError as e:
            kind, text = NO_MEMORY, runner.explain(e)
        except BaseException as e:
            kind, text = FAILED, runner.explain(e)
        ANSWER[0] = b"%c%b" % (kind, text.encode("utf-8", "replace"))

    _serve = (serve,)
    runner.explain(_raised())
    _leave(("", [id(()), id(BUFFER), id(ANSWER), 0, 0, id(serve)], *_NOTHING[1:]))


_NOTHING = ([], False, False, False, [], {}, {}, {}, [])  # of what the host is told of a reward


def _leave(hello) -> None:  # type: ignore[no-untyped-def]
    """Tells the host what it can call and leaves."""
    _settle_memory()
    posix.write(1, dumps(hello, 2))
    posix._exit(0)


def _settle_memory() -> None:
    """Frees what nobody uses, and spares the collector of evaluations what is there."""
    gc.collect()
    gc.freeze()


def _flushed(serve):  # type: ignore[no-untyped-def]
    """The function for a reward that prints through files of its own, which may hold back what it says last."""

    def flushed() -> None:
        serve()
        for file in (sys.stdout, sys.stderr):
            try:
                file.flush()
            except BaseException:
                ...  # the log lacks it, and the answer stands

    return flushed


def _raised() -> BaseException:
    try:
        raise ValueError("example")
    except ValueError as e:
        return e
