"""What the sandbox refused a reward, and where the author's code asked for it.

The score of a reward that catches the refusal is not used: an evaluation in
which something was refused has no score, unless ``__merit__`` says that the
reward does without that kind of thing. What was refused while
the reward was loaded is a warning: that is how code chooses between packages.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

# The kinds, as __merit__ names them in "without", and what was refused.
KINDS = {  # what the reward did
    "network": "tried to use the network: {}",
    "process": "tried to start another process: {}",
    "package": "tried to import {}, which is not available in the sandbox",
    "native": "tried to use native code: {}",
    "file": "tried to use a file that is not part of it: {}",
    "environment": "tried to read an environment variable that is not set: {}",
    "thread": "waited for a thread that cannot continue: {}",
}
HELP = {"package": "put a package in pure Python beside it", "file": "put the file beside it", "environment": "use os.environ.get"}
MOST = 16  # different refusals that are told

PENDING: "dict[str, Callable[[], None]]" = {}  # what is left to do at the end of an evaluation; nearly always empty
without: "frozenset[str]" = frozenset()
_seen: "dict[tuple[str, str], list[Any]]" = {}  # how often, and where first
_folders: "dict[str, frozenset[str]]" = {}  # what is installed in a folder

OURS = __file__.rpartition("/")[0] + "/"
LIBRARY = "/usr/local/lib/python"  # set by begin: where the standard library was compiled
ALONE = ("/uuid.py", "/platform.py", "/importlib/metadata/__init__.py", "/linecache.py")  # of the standard library: they try, and do without


def begin(library: str) -> None:
    """Says where the files of the standard library lie."""
    global LIBRARY
    LIBRARY = library


def note(kind: str, what: str) -> None:
    """Counts a refusal, if the author's code asked for it."""
    if kind in without:
        return
    place = _asked(kind == "package")
    if not place:
        return
    if (kind, what) in _seen:
        _seen[kind, what][0] += 1
    elif len(_seen) < MOST:
        _seen[kind, what] = [1, place]
    PENDING.setdefault("refused", _nothing)


def _nothing() -> None:
    pass


def _asked(own: bool) -> str:
    """The place in the author's code that asked; empty if a library asked for itself.

    With ``own`` a library asks for itself where its code catches that it does not
    get it, and else while it is imported. A reward that a package brings is as
    good as the author's.
    """
    frames: "list[tuple[Any, str]]" = []
    frame: "Any" = sys._getframe(2)
    while frame is not None:
        file = frame.f_code.co_filename
        if file.startswith((OURS, "<frozen importlib", "<frozen zipimport")):
            pass
        elif file.startswith((LIBRARY, "<frozen ")):
            if own and "/importlib/" not in file and guarded(frame) or not own and not frames and file.endswith(ALONE):
                return ""
        elif own and _package(file) and guarded(frame):
            return ""
        else:
            frames.append((frame, _package(file)))
        frame = frame.f_back
    if not frames:
        return ""
    author = {"", frames[-1][1]}
    for frame, package in frames:
        if package in author:
            return f"{frame.f_code.co_filename}:{frame.f_lineno}"
        if not own and frame.f_code.co_name == "<module>":
            return ""
    return ""


def guarded(frame: "Any") -> bool:
    """Whether a frame catches what is raised where it is."""
    table = iter(frame.f_code.co_exceptiontable)

    def number() -> int:
        byte = next(table)
        value = byte & 63
        while byte & 64:
            byte = next(table)
            value = value << 6 | byte & 63
        return value * 2

    try:
        while True:
            start, length, _target, _depth = number(), number(), number(), number()
            if start <= frame.f_lasti < start + length:
                return True
    except StopIteration:
        return False


def authors(frame: "Any") -> bool:
    """Whether a frame is of the author's own code."""
    return writes(frame.f_code.co_filename)


def writes(file: str) -> bool:
    """Whether a file is the author's own, or a program that the author runs."""
    return not file.startswith((OURS, "<frozen ", LIBRARY)) and not _package(file)


def _package(file: str) -> str:
    """The installed package that a file belongs to; empty for the author's own."""
    parts = file.split("/")
    for i in range(2, len(parts)):
        if parts[i - 1] == "site-packages":
            return parts[i]
        name = parts[i].removesuffix(".py")
        if name in _installed("/".join(parts[:i])):
            return name
    return ""


def _installed(folder: str) -> "frozenset[str]":
    """The names that pip has put into a folder."""
    if folder not in _folders:
        import posix

        names: "set[str]" = set()
        try:
            entries = posix.listdir(folder)
        except OSError:
            entries = []
        for entry in entries:
            if entry.endswith(".dist-info"):
                names |= _record(f"{folder}/{entry}/RECORD")
        _folders[folder] = frozenset(names)
    return _folders[folder]


def _record(path: str) -> "set[str]":
    """What one distribution has put there, by the first part of its paths."""
    import io

    try:
        with io.FileIO(path) as f:
            lines = f.readall().decode("utf-8", "replace").splitlines()
    except OSError:
        return set()
    return {line.partition(",")[0].partition("/")[0].removesuffix(".py") for line in lines}


def taken() -> "list[list[Any]]":
    """What was refused since the last time: kind, what, where first and how often."""
    PENDING.pop("refused", None)
    found = [[kind, what, place, count] for (kind, what), (count, place) in _seen.items()]
    _seen.clear()
    return found


def settle() -> "list[list[Any]]":
    """Ends what an evaluation has left behind, and returns what it was refused."""
    if not PENDING and not _seen:
        return []
    for work in [*PENDING.values()]:
        work()
    found = taken()
    PENDING.clear()
    return found


def drop() -> None:
    """Forgets what an evaluation that failed has left behind."""
    PENDING.clear()
    _seen.clear()
    if threads := sys.modules.get("merit_reward.threads"):
        threads.drop()


def explain(found: "list[list[Any]]") -> str:
    """Why an evaluation in which this was refused has no score."""
    lines = [f"the reward {KINDS[k].format(what)}, at {place}" + (f" ({n} times)" if n > 1 else "") for k, what, place, n in found]
    kinds = [*dict.fromkeys(f[0] for f in found)]
    steps = ", ".join(["Change the reward so that it does not need this", *(HELP[k] for k in kinds if k in HELP)])
    without = ", ".join(f'"{k}"' for k in kinds)
    return "\n".join(lines) + (
        "\nThe sandbox refused this, and the reward returned a score anyway; that score is not used. "
        f'{steps}, or, if the score is right without it, add to the reward: __merit__ = {{"without": [{without}]}}'
    )


def choose(said: "Any") -> str:
    """Takes what __merit__ says under "without"; returns it as the manifest has it."""
    global without
    kinds = [said] if isinstance(said, str) else said
    if not isinstance(kinds, (list, tuple, set, frozenset)) or not {*kinds} <= KINDS.keys():
        raise ValueError(f"__merit__ says without: {said!r}; it is a list of {', '.join(map(repr, KINDS))}")
    without = frozenset(kinds)
    return " ".join(sorted(without))
