"""Errors as Merit shows them: where, what, and what to do next."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING, Iterable

if TYPE_CHECKING:
    from ._proto import fault_pb2

MAX_TEXT = 16 << 10  # bytes of one text that the host accepts
MAX_FAULTS = 64


class Fault(Exception):
    """One thing that went wrong.

    boundary is where: config for what the user wrote, learner for weights and
    updates, model for a model behind an API, plugin for the rest. kind is how:
    invalid, missing, refused, crashed, timeout, protocol, exhausted, corrupt,
    numeric, interrupted or internal. retry says that the same may succeed later;
    of learn, publish, save and load it also says that the state of the learner is
    no longer known, and load comes next.
    """

    def __init__(self, what: str, *, boundary: str = "plugin", kind: str = "invalid", where: str = "", hint: str = "", retry: bool = False):
        super().__init__(what)
        self.boundary, self.kind, self.where, self.what, self.hint, self.retry = boundary, kind, where, what, hint, retry


class Faults(Exception):
    """Several faults at once, as of a configuration."""

    def __init__(self, all: Iterable[Fault]):
        self.all = list(all)
        super().__init__("; ".join(str(f) for f in self.all))


def problem(key: str, what: str, hint: str) -> Fault:
    """What is wrong with an option. Key is its path, as in "walls"; the user sees
    it with the file and line that set the option."""
    return Fault(what, boundary="config", kind="invalid", where=f"options.{key}" if key else "options", hint=hint)


def told(error: BaseException, retry: bool = True) -> Fault:
    """The fault of an exception. One that is not a Fault is a defect of the plug-in:
    its traceback goes to the log, and retry says whether the next try may be better."""
    if isinstance(error, Fault):
        return error
    traceback.print_exception(error)
    text = "".join(traceback.format_exception_only(error)).strip()
    return Fault(text, kind="crashed", hint="the plug-in has a defect; its log has the traceback", retry=retry)


def encode(error: BaseException, retry: bool = True) -> fault_pb2.Fault:
    """The message for an exception, see told."""
    from ._proto import fault_pb2

    if isinstance(error, Faults) and error.all:
        return fault_pb2.Fault(all=[encode(f, retry) for f in error.all[:MAX_FAULTS]])
    f = told(error, retry)
    return fault_pb2.Fault(boundary=f.boundary, kind=f.kind, where=_cut(f.where), what=_cut(f.what), hint=_cut(f.hint), retry=f.retry)


def _cut(text: str) -> str:
    """Text that protobuf takes and the host does not cut."""
    return text.encode("utf-8", "replace")[:MAX_TEXT].decode("utf-8", "ignore")
