"""The gRPC service of an environment: batches in strict order, and beside them what
the environment is at."""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
from time import monotonic
from typing import Any, Callable, Iterator

import grpc

from . import options as opts
from ._proto import environment_pb2 as pb
from ._lane import Lane
from ._slots import Slots
from .environment import SPLITS, Described, Environment, Vector
from .fault import Fault, encode

NAME = "merit.plugin.v1.Environment"


class Service:
    """Answers the host. The author's code runs in the thread that calls work, and
    in no other: libraries that know signals, windows or SQLite want it so."""

    def __init__(self, environment: type[Described], options: type, described: pb.Description):
        self._class, self._options, self._described = environment, options, described
        self._together = issubclass(environment, Vector)
        self._slots: Any = None
        self._jobs: queue.SimpleQueue = queue.SimpleQueue()
        self._busy = False
        self._lane: Lane | None = None
        self._turn = threading.Lock()  # over _lane where several threads look

    def handler(self) -> grpc.GenericRpcHandler:
        unary = {"Describe": (pb.DescribeRequest, self.describe), "Configure": (pb.ConfigureRequest, self.configure),
                 "Render": (pb.RenderRequest, self.render), "Where": (pb.WhereRequest, self.where),
                 "Snapshot": (pb.SnapshotRequest, self.snapshot), "Restore": (pb.RestoreRequest, self.restore),
                 "Encode": (pb.EncodeRequest, self.encode)}
        methods = {
            name: grpc.unary_unary_rpc_method_handler(call, taken.FromString, lambda m: m.SerializeToString()) for name, (taken, call) in unary.items()
        }
        methods["Run"] = grpc.stream_stream_rpc_method_handler(self.run)  # bytes, both ways
        return grpc.method_handlers_generic_handler(NAME, methods)

    def work(self, end: threading.Event) -> None:
        """Does what is asked for until the end."""
        while not end.is_set():
            if self._lane is not None and not self._lane.wait():
                self._answer(self._lane)
                continue
            try:
                job = self._jobs.get(block=self._lane is None)
            except queue.Empty:  # it was done at an earlier ring
                continue
            if job is not None:
                job()

    def wake(self) -> None:
        """Has work look whether it is the end."""
        self._ask(None)

    def _ask(self, job: Callable | None) -> None:
        self._jobs.put(job)
        with self._turn:
            if self._lane is not None:
                self._lane.ring()

    def _answer(self, lane: Lane) -> None:
        """Answers the next batch of the lane, which ends with its connection."""
        try:
            raw = lane.receive()
            if raw is not None:
                lane.send(self._at_work(lambda: self._parts(raw)))
                return
        except OSError:
            pass  # the host is gone, or has given up
        self._leave_lane()

    def _leave_lane(self) -> None:
        with self._turn:
            lane, self._lane = self._lane, None
        if lane is not None:
            lane.close()

    def _take_lane(self, path: str) -> bool:
        """Takes a host's offer. Where it leads nowhere, batches come in Run."""
        self._leave_lane()
        if not path:
            return False
        try:
            lane = Lane(path)
        except OSError:
            return False
        with self._turn:
            self._lane = lane
            for _ in range(self._jobs.qsize()):  # they were asked for without a ring
                lane.ring()
        return True

    def describe(self, _m: Any, _context: Any) -> pb.Description:
        return self._described

    def configure(self, m: pb.ConfigureRequest, _context: Any) -> pb.ConfigureReply:
        def build() -> pb.ConfigureReply:
            self.close()
            if m.split not in SPLITS:
                raise Fault(f"split {json.dumps(m.split)} is not one of {', '.join(SPLITS)}", kind="refused")
            options = opts.decode(self._options, m.options)
            slots = _vector_slots() if self._together else Slots
            self._slots = slots(self._class, options, m.split, m.slots)
            return pb.ConfigureReply(spec=self._spec(self._slots.described, m.slots), lane=self._take_lane(m.lane))

        return self._do(lambda: _answered(build, pb.ConfigureReply))

    def _spec(self, d: Described, slots: int) -> pb.Spec:
        return pb.Spec(
            name=self._described.name, version=self._described.version, slots=slots, actions=list(d.actions),
            feature_shape=list(d.feature_shape), max_steps=d.max_steps, system=d.system, tools=json.dumps(list(d.tools)).encode() if d.tools else b"",
            tasks=d.tasks, snapshots=_offers(d, "snapshot"), encodes=_offers(d, "encode"),
        )

    def run(self, batches: Iterator[bytes], context: Any) -> Iterator[bytes]:
        for raw in batches:
            yield self._do(lambda: self._exchange(raw))

    def _exchange(self, raw: bytes) -> bytes:
        return b"".join(self._parts(raw))

    def _parts(self, raw: bytes) -> list[Any]:
        try:
            return self._configured().exchange(raw)
        except Exception as e:
            return [pb.BatchReply(fault=encode(e)).SerializeToString()]

    def render(self, m: pb.RenderRequest, _context: Any) -> pb.RenderReply:
        def draw() -> pb.RenderReply:
            try:
                return pb.RenderReply(text=self._configured().render(m.slot))
            except NotImplementedError:
                raise Fault("the environment draws no picture") from None

        return self._do(lambda: _answered(draw, pb.RenderReply))

    def snapshot(self, m: pb.SnapshotRequest, _context: Any) -> pb.SnapshotReply:
        return self._do(lambda: _answered(lambda: pb.SnapshotReply(state=self._configured().snapshot(m.slot)), pb.SnapshotReply))

    def restore(self, m: pb.RestoreRequest, _context: Any) -> pb.RestoreReply:
        def put_back() -> pb.RestoreReply:
            if not m.state:
                raise Fault("is not a snapshot of this environment")
            self._configured().restore(m.slot, m.state)
            return pb.RestoreReply()

        return self._do(lambda: _answered(put_back, pb.RestoreReply))

    def encode(self, m: pb.EncodeRequest, _context: Any) -> pb.EncodeReply:
        def read() -> pb.EncodeReply:
            parts, action = self._configured().encode(list(m.messages), m.answer)
            return pb.EncodeReply(observation=pb.BatchReply.FromString(b"".join(parts)), action=action)

        return self._do(lambda: _answered(read, pb.EncodeReply))

    def where(self, _m: Any, _context: Any) -> pb.WhereReply:
        slots = self._slots
        if slots is None or not self._busy:
            return pb.WhereReply()
        return pb.WhereReply(busy=True, slot=slots.at, milliseconds=int(1000 * (monotonic() - slots.since)), together=self._together)

    def close(self) -> None:
        slots, self._slots = self._slots, None
        if slots is not None:
            slots.close()

    def _configured(self) -> Any:
        if self._slots is None:
            raise Fault("Configure comes first", kind="protocol")
        return self._slots

    def _do(self, call: Callable) -> Any:
        """Has the thread of work do something, and waits for it."""
        done: queue.SimpleQueue = queue.SimpleQueue()
        self._ask(lambda: done.put(self._at_work(call)))
        return done.get()

    def _at_work(self, call: Callable) -> Any:
        self._busy = True
        try:
            answer = call()
        except BaseException as e:  # sys.exit of the author's: nobody may wait for an answer
            print(f"{type(e).__name__}: {e}", file=sys.stderr, flush=True)
            os._exit(1)
        self._busy = False
        return answer


def _offers(d: Described, name: str) -> bool:
    """Whether the author wrote an optional method."""
    return getattr(type(d), name, None) not in (None, getattr(Environment, name), getattr(Vector, name))


def _answered(call: Callable, reply: type) -> Any:
    try:
        return call()
    except Exception as e:
        return reply(fault=encode(e, retry=False))


def _vector_slots() -> type:
    try:
        from ._vector import Slots as together
    except ImportError as e:
        raise Fault(f"an environment that steps all slots at once needs numpy: {e}", kind="missing", hint="install numpy for the Python of the plug-in") from None
    return together
