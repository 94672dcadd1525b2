"""Records which lines and branches of a reward run, and the short texts that it holds there.

It is part of the sandbox only if coverage is on. The host reads what is recorded from memory, so
an evaluation that is stopped has its coverage too, and restores it with everything else.
"""

from __future__ import annotations

import gc
import sys
from opcode import opmap
from re import Pattern
from types import CodeType, FunctionType, ModuleType

from . import _sandbox

MOST = 1 << 13  # places
WORDS, WORD = 4096, 256  # the constants that are told, and the bytes of one
SHORT = 64  # bytes of a text at a branch
PLAIN = (str, bytes, int, float, tuple)
PRACTICE = 20
OFTEN = 32  # a branch that always goes one way is looked at so often

EVENTS = sys.monitoring.events
BRANCHES = {opmap[n] for n in ("FOR_ITER", "POP_JUMP_IF_FALSE", "POP_JUMP_IF_NONE", "POP_JUMP_IF_NOT_NONE", "POP_JUMP_IF_TRUE")}
EXTENDED, CACHE = opmap["EXTENDED_ARG"], opmap["CACHE"]

_hit = bytearray(MOST + 1)  # a byte for each place; the last is for those that there is no room for
_looked = bytearray(MOST + 1)  # how often a branch was looked at, at its place
_texts = bytearray(1 << 12)  # each after its size
_codes: "list[CodeType]" = []
_lines: "dict[int, dict[int, int]]" = {}  # by the id of a code: the places of lines
_branches: "dict[int, dict[int, tuple[int, int]]]" = {}  # where a branch falls through to, and its place; a jump has the next one
_known: "set[str]" = set()
_room = 0  # how much of _texts is used


def install() -> None:
    load = _sandbox._load

    def covered(path, *choice):  # type: ignore[no-untyped-def]
        answer = load(path, *choice)
        if not answer[0]:
            try:
                answer[8]["cover"] = _survey(path.rpartition("/")[0] + "/")
            except Exception:
                _codes.clear()  # it goes without
        return answer

    _sandbox._load = covered


def _survey(folder: str):  # type: ignore[no-untyped-def]
    """Numbers what the reward's own files can reach. The order is that of the files, not that of the memory."""
    packages, found = folder + "packages/", {}  # type: ignore[var-annotated]
    for f in gc.get_objects():
        if type(f) is FunctionType:
            for code in _within(f.__code__):
                if code.co_filename.startswith(folder) and not code.co_filename.startswith(packages):
                    found[id(code)] = code
    _codes[:] = sorted(found.values(), key=lambda c: (c.co_filename, c.co_firstlineno, c.co_qualname, c.co_code))
    files: "dict[str, int]" = {}
    places: "list[object]" = []  # of each the file, the line and the name
    lines: "dict[tuple[str, int], int]" = {}
    for code in _codes:
        file = files.setdefault(code.co_filename.removeprefix(folder), len(files))
        own = _lines[id(code)] = {}
        for line in sorted({n for _, _, n in code.co_lines() if n}):
            place = lines.setdefault((code.co_filename, line), min(len(places) // 3, MOST))
            if place == len(places) // 3 < MOST:
                places += (file, line, code.co_qualname)
            own[line] = place
    for code in _codes:
        file, ways = files[code.co_filename.removeprefix(folder)], {}
        _branches[id(code)] = ways
        at = sorted((start, line) for start, _, line in code.co_lines() if line)
        for offset, falls, jumps in _jumps(code.co_code):
            ways[offset] = falls, min(len(places) // 3, MOST - 1)
            if len(places) // 3 < MOST - 1:
                line = _line_of(at, offset)
                there = f"{code.co_qualname}: from line {line} to line "
                places += (file, line, f"{there}{_line_of(at, falls)}", file, line, f"{there}{_line_of(at, jumps)}, by a jump")
    return {"files": list(files), "places": places, "words": _words(folder, packages), "hit": id(_hit), "texts": id(_texts), "arm": id(arm)}


def _within(code: CodeType):  # type: ignore[no-untyped-def]
    """A code and those of the functions in it."""
    yield code
    for c in code.co_consts:
        if type(c) is CodeType:
            yield from _within(c)


def _jumps(code: bytes):  # type: ignore[no-untyped-def]
    """Where branches are, where they fall through to, and where they jump."""
    high = 0
    for offset in range(0, len(code), 2):
        op, arg = code[offset], code[offset + 1] | high << 8
        high = arg if op == EXTENDED else 0
        if op in BRANCHES:
            falls = offset + 2
            while code[falls] == CACHE:
                falls += 2
            yield offset, falls, falls + 2 * arg


def _line_of(at: "list[tuple[int, int]]", offset: int) -> int:
    found = 0
    for start, line in at:
        if start > offset:
            break
        found = line
    return found


def _words(folder: str, packages: str) -> "list[str]":
    """The constants of the reward's modules, and what their names hold once they are loaded."""
    words: "dict[str, None]" = {}
    for module in list(sys.modules.values()):
        file = str(getattr(module, "__file__", None)) if type(module) is ModuleType else ""
        if not file.startswith(folder) or file.startswith(packages):
            continue
        try:
            with open(file, "rb") as f:
                code = compile(f.read(), file, "exec", dont_inherit=True)
        except (OSError, SyntaxError, ValueError):
            continue
        own = [v for k, v in vars(module).items() if not k.startswith("__")]
        inside = [m for v in own if type(v) is type for m in vars(v).values()]
        docs = {v.__doc__ for v in (module, *own, *inside) if type(v) in (ModuleType, FunctionType, type)}
        for c in _within(code):
            _take(words, [v for v in c.co_consts if type(v) is not str or v not in docs], 0)
        _take(words, own, 0)
    return list(words)


def _take(words: "dict[str, None]", values, depth: int) -> None:  # type: ignore[no-untyped-def]
    for value in values:
        kind = type(value)
        if len(words) >= WORDS:
            return
        if kind is str:
            if 0 < len(value) <= WORD:
                words[value.encode("utf-8", "replace").decode()] = None
        elif kind is int or kind is float:
            if abs(value) < 1e15:
                words[repr(value)] = None
        elif kind is bytes:
            _take(words, [value.decode("latin-1")], depth)
        elif depth < 4 and kind in (tuple, list, frozenset, set):
            _take(words, sorted((v for v in value if type(v) in PLAIN), key=repr) if kind in (frozenset, set) else value, depth + 1)
        elif depth < 4 and kind is dict:
            _take(words, [*value, *value.values()], depth + 1)
        elif kind is Pattern:
            _take(words, [value.pattern], depth)


def arm() -> None:
    """Begins to record. The host calls it before the snapshot, after a warm-up that may have broken this module."""
    try:
        _begin()
    except Exception:
        pass  # the reward goes without


def _begin() -> None:
    global _room
    monitoring = sys.monitoring
    monitoring.use_tool_id(monitoring.COVERAGE_ID, "merit")
    monitoring.register_callback(monitoring.COVERAGE_ID, EVENTS.LINE, _line)
    monitoring.register_callback(monitoring.COVERAGE_ID, EVENTS.BRANCH, _branch)
    monitoring.register_callback(monitoring.COVERAGE_ID, EVENTS.PY_RETURN, _return)
    own = _practice.__code__
    _lines[id(own)] = dict.fromkeys(range(own.co_firstlineno, own.co_firstlineno + 9), MOST)
    _branches[id(own)] = {offset: (falls, MOST - 1) for offset, falls, _ in _jumps(own.co_code)}
    for code in (*_codes, own):
        monitoring.set_local_events(monitoring.COVERAGE_ID, code, EVENTS.LINE | EVENTS.BRANCH | EVENTS.PY_RETURN)
    for i in range(PRACTICE):
        monitoring.restart_events()
        _practice(str(i))
    for buffer in (_hit, _looked, _texts):
        buffer[:] = bytes(len(buffer))
    _known.clear()
    _room = 0
    monitoring.restart_events()


def _practice(text: str) -> str:
    """Lets what records run, so that Python has made it fast when the snapshot is taken."""
    for c in text:
        if c == "x":
            break
    return text


def _line(code: CodeType, line: int, *, lines=_lines, hit=_hit, off=sys.monitoring.DISABLE):  # type: ignore[no-untyped-def]
    try:
        hit[lines[id(code)][line]] = 1
    except Exception:
        pass  # the reward broke it, or recurses as deeply as it may
    return off


def _branch(code: CodeType, offset: int, to: int, *, branches=_branches, hit=_hit, looked=_looked, off=sys.monitoring.DISABLE):  # type: ignore[no-untyped-def]
    try:
        falls, place = branches[id(code)][offset]
        if to == falls:
            hit[place] = 1
            if hit[place + 1]:
                return off
        else:
            hit[place + 1] = 1
            if hit[place]:
                return off
        looked[place] += 1
        return off if looked[place] > OFTEN else None
    except Exception:
        return off


def _return(code: CodeType, offset: int, value):  # type: ignore[no-untyped-def]
    """Keeps the short texts that a function holds when it returns: what it compared, as likely as not."""
    global _room
    try:
        for text in (value, *sys._getframe(1).f_locals.values()):
            if type(text) is str and 0 < len(text) <= SHORT and text not in _known:
                _known.add(text)
                kept = text.encode("utf-8", "replace")
                if len(kept) <= SHORT and _room + len(kept) < len(_texts):
                    _texts[_room] = len(kept)
                    _texts[_room + 1 : _room + 1 + len(kept)] = kept
                    _room += 1 + len(kept)
    except Exception:
        pass  # there is no room for it
    return sys.monitoring.DISABLE
