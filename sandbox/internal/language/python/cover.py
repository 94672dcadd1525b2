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
OFTEN = 32  # a branch that always goes one way is looked at so often

EVENTS = sys.monitoring.events
BRANCHES = {opmap[n] for n in ("FOR_ITER", "POP_JUMP_IF_FALSE", "POP_JUMP_IF_NONE", "POP_JUMP_IF_NOT_NONE", "POP_JUMP_IF_TRUE")}
EXTENDED, CACHE = opmap["EXTENDED_ARG"], opmap["CACHE"]

_bits = bytearray(MOST >> 3)
_texts = bytearray(1 << 12)  # each after its size
_codes: "list[CodeType]" = []
_lines: "dict[int, dict[int, int]]" = {}  # by the id of a code: the place of a line
_branches: "dict[int, dict[int, list[int]]]" = {}  # the place of a branch that falls through, how far that is, how often it was looked at
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
            if (code.co_filename, line) not in lines and len(places) < 3 * MOST:
                lines[code.co_filename, line] = len(places) // 3
                places += (file, line, code.co_qualname)
            if (code.co_filename, line) in lines:
                own[line] = lines[code.co_filename, line]
    for code in _codes:
        file, own = files[code.co_filename.removeprefix(folder)], {}
        _branches[id(code)] = own
        at = sorted((start, line) for start, _, line in code.co_lines() if line)
        for offset, falls, jumps in _jumps(code.co_code):
            if len(places) > 3 * (MOST - 2):
                break
            own[offset] = [len(places) // 3, falls - offset, 0]
            line = _line_of(at, offset)
            there = f"{code.co_qualname}: from line {line} to line "
            places += (file, line, f"{there}{_line_of(at, falls)}", file, line, f"{there}{_line_of(at, jumps)}, by a jump")
    return {"files": list(files), "places": places, "words": _words(folder, packages), "bits": id(_bits), "texts": id(_texts), "arm": id(arm)}


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
    """Begins to record. The host calls it before the snapshot."""
    monitoring = sys.monitoring
    monitoring.use_tool_id(monitoring.COVERAGE_ID, "merit")
    monitoring.register_callback(monitoring.COVERAGE_ID, EVENTS.LINE, _line)
    monitoring.register_callback(monitoring.COVERAGE_ID, EVENTS.BRANCH, _branch)
    for code in _codes:
        monitoring.set_local_events(monitoring.COVERAGE_ID, code, EVENTS.LINE | EVENTS.BRANCH)


def _line(code: CodeType, line: int, *, lines=_lines, bits=_bits, off=sys.monitoring.DISABLE):  # type: ignore[no-untyped-def]
    place = lines[id(code)].get(line)
    if place is not None:
        bits[place >> 3] |= 1 << (place & 7)
        _keep(sys._getframe(1))
    return off


def _branch(code: CodeType, offset: int, to: int, *, branches=_branches, bits=_bits, off=sys.monitoring.DISABLE):  # type: ignore[no-untyped-def]
    branch = branches[id(code)].get(offset)
    if branch is None:
        return off
    place, falls, looked = branch
    here = place + (to - offset != falls)
    if not bits[here >> 3] >> (here & 7) & 1:
        bits[here >> 3] |= 1 << (here & 7)
        _keep(sys._getframe(1))
    other = 2 * place + 1 - here
    branch[2] = looked + 1
    if looked >= OFTEN or bits[other >> 3] >> (other & 7) & 1:
        return off
    return None


def _keep(frame) -> None:  # type: ignore[no-untyped-def]
    """Keeps the short texts that a function holds: what it compares, as likely as not."""
    global _room
    try:
        for value in [*frame.f_locals.values()]:
            if type(value) is str and 0 < len(value) <= SHORT and value not in _known:
                _known.add(value)
                text = value.encode("utf-8", "replace")
                if len(text) <= SHORT and _room + len(text) < len(_texts):
                    _texts[_room] = len(text)
                    _texts[_room + 1 : _room + 1 + len(text)] = text
                    _room += 1 + len(text)
    except Exception:
        pass  # there is no room for it
