"""Batches to an environment within the process, as the host encodes them."""

from array import array

from merit_plugin._proto import environment_pb2 as pb

SKIP, STEP, RESET = 0, 1, 2


def batch(ops, actions=None, seeds=(), texts=None, want=3, seq=1):
    m = pb.Batch(seq=seq, op=bytes(ops), seed=array("Q", seeds).tobytes(), want=want)
    if texts is not None:
        said = [t.encode() for t in texts]
        m.text, m.text_end = b"".join(said), array("I", [sum(map(len, said[: i + 1])) for i in range(len(said))]).tobytes()
    else:
        m.action = array("i", actions or [0] * len(ops)).tobytes()
    return m.SerializeToString()


class Reply:
    def __init__(self, parts):
        self.raw = m = pb.BatchReply.FromString(b"".join(parts))
        self.anchors, self.texts = _rows(m.anchor, m.anchor_end), _rows(m.text, m.text_end)
        self.features, self.reward = array("f", m.features).tolist(), array("d", m.reward).tolist()
        self.flags, self.mask = list(m.flags), list(m.mask)
        self.events = [(e.slot, e.kind, e.name, e.message) for e in m.events]


def ask(slots, ops, **rest):
    return Reply(slots.exchange(batch(ops, **rest)))


def _rows(arena, ends):
    ends = [0, *array("I", ends)]
    return [arena[a:b].decode() for a, b in zip(ends, ends[1:])]
