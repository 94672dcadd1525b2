# Writes golden.tfevents with TensorBoard's own writer and protocol buffers
# (made with tensorboard 2.21.0): python golden.py
import io
from tensorboard.compat.proto import event_pb2, summary_pb2
from tensorboard.summary.writer.record_writer import RecordWriter

Value = summary_pb2.Summary.Value
events = [
    event_pb2.Event(wall_time=1700000000.25, file_version="brain.Event:2"),
    event_pb2.Event(wall_time=1700000000.5, step=3, session_log=event_pb2.SessionLog(status=event_pb2.SessionLog.START)),
    event_pb2.Event(wall_time=1700000001.0, step=300, summary=summary_pb2.Summary(value=[
        Value(tag="rollout/success", simple_value=0.1),
        Value(tag="update/kl", simple_value=-2.5e-7),
        Value(tag="validation/metrics/größe/mean", simple_value=float("inf")),
    ])),
    event_pb2.Event(wall_time=1700000002.0, summary=summary_pb2.Summary(value=[Value(tag="zero", simple_value=0)])),
]
with open("golden.tfevents", "wb") as f:
    w = RecordWriter(f)
    for e in events:
        w.write(e.SerializeToString())
    w.flush()
