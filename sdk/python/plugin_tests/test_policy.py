"""Tests of merit_plugin over the wire: they need grpcio and protobuf."""

import json
import os
import signal
import subprocess
import sys
import unittest
from array import array

from host import Host, Stream, environment_pb2, policy_pb2, watchdog

from merit_plugin import Faults, options
from tally import Options

TALLY = (sys.executable, "-B", os.path.join(os.path.dirname(__file__), "tally.py"))
watchdog(120)


def part(lengths, advantage=1.0, seed=5, announced=None):
    total = sum(lengths)
    ends, end = array("I"), 0
    for n in lengths:
        end += n
        ends.append(end)
    return policy_pb2.LearnRequest(
        seed=seed, sequences=len(lengths) if announced is None else announced, end=ends.tobytes(),
        tokens=array("i", range(total)).tobytes(), sampled=b"\1" * total, log_prob=array("f", [-1.0] * total).tobytes(),
        advantage=array("f", [advantage] * total).tobytes(), weight=array("f", [1.0] * total).tobytes(),
    )


class Wire(unittest.TestCase):
    def setUp(self):
        self.host = Host(*TALLY)
        self.addCleanup(self.host.close)

    def configure(self, **given):
        return self.host.call("Configure", policy_pb2.PolicyRequest(options=json.dumps(given).encode(), learn=True), policy_pb2.PolicyReply)

    # Promise: what an author's modules print never breaks the handshake, and is in the log.
    def test_prints(self):
        self.assertRegex(self.host.handshake, r"^1\|1\|unix\|/.*/socket\|grpc$")
        self.host.close()
        self.assertIn("printed before the handshake", self.host.said)

    # Promise: Describe shows name, version and every option with its default.
    def test_describe(self):
        d = self.host.call("Describe", environment_pb2.DescribeRequest(protocol=1), environment_pb2.Description)
        self.assertEqual((d.protocol, d.name, d.version, d.summary), (1, "tally", "1.2.3", "Adds up."))
        self.assertEqual(json.loads(d.options), {"start": 0, "words": [], "inner": {"rate": 0.5}})

    # Promise: everything wrong with the options is said at once, each with its key.
    def test_configure(self):
        spec = self.configure(start=2).spec
        self.assertEqual((spec.learns, spec.model, spec.context), (True, "tally", 77))
        wrong = self.configure(stat=1, words=["a", 2], inner={"rate": "x"}).fault.all
        self.assertEqual([f.where for f in wrong], ["options.inner.rate", "options.stat", "options.words[1]"])
        self.assertEqual({(f.boundary, f.kind) for f in wrong}, {("config", "invalid")})
        self.assertEqual(self.configure(words=["refuse"]).fault.what, "refused twice")

    # Promise: requests are answered as they come, each once: what is slow holds up nobody.
    def test_act(self):
        self.configure(start=3)
        stream = Stream(self.host)
        stream.send(id=1, text="slow", timeout=300)
        stream.send(id=2, text="slow")
        stream.send(
            id=3, messages=b'[{"role":"user","content":"\xc3\xbc"}]', features=array("f", [0.5]).tobytes(), mask=b"\1\0",
            seed=2**63, greedy=True, tokens=array("i", [7, 8]).tobytes(), covered=1,
        )
        first = stream.take(1)[3].decision
        self.assertEqual(json.loads(first.raw), [[{"role": "user", "content": "ü"}], [0.5], [1, 0], 2**63, True, [7, 8], 1])
        self.assertEqual((array("i", first.prompt).tolist(), first.value, json.loads(first.info)), ([1, 2], 3.0, {"print": "ed"}))
        stream.send(id=2, cancel=True)
        self.assertEqual(stream.take(1)[2].fault.kind, "interrupted")
        late = stream.take(1)[1].fault
        self.assertEqual((late.kind, late.retry), ("timeout", True))
        stream.end()

    # Promise: a thousand requests at once are a thousand answers.
    def test_many(self):
        self.configure()
        stream = Stream(self.host)
        for i in range(1, 1001):
            stream.send(id=i, text="x", seed=i)
        replies = stream.take(1000)
        self.assertTrue(all(json.loads(replies[i].decision.raw)[3] == i for i in range(1, 1001)))

    # Promise: an exception costs its own request and says what it is.
    def test_faults(self):
        self.configure()
        stream = Stream(self.host)
        for i, text in enumerate(["defect", "fault", "two", "nan", "fine"], 1):
            stream.send(id=i, text=text)
        got = stream.take(5)
        self.assertEqual((got[1].fault.kind, got[1].fault.what, got[1].fault.retry), ("crashed", "KeyError: 'nothing'", True))
        f = got[2].fault
        self.assertEqual((f.boundary, f.kind, f.where, f.what, f.hint, f.retry), ("model", "exhausted", "there", "not now", "wait", True))
        self.assertIn("one action", got[3].fault.what)
        self.assertEqual((got[4].fault.kind, got[5].fault.kind), ("crashed", ""))

    # Promise: an update takes its parts as one; what does not fit together changes nothing.
    def test_learn(self):
        self.configure(start=1)
        two = part([2, 1], announced=3), part([4])
        reply = self.host.learn(*two)
        self.assertEqual((reply.stats.loss, reply.stats.sequences, reply.stats.tokens, reply.version), (8.0, 3, 7, 1))
        short = part([2])
        short.tokens = short.tokens[:4]
        for wrong in (short, part([2], announced=2), part([2], advantage=float("nan"))):
            self.assertEqual(self.host.learn(wrong).fault.kind, "protocol")
        self.assertEqual(self.host.learn(part([])).version, 2)
        self.assertEqual(self.host.call("Publish", policy_pb2.PublishRequest(), policy_pb2.PublishReply).version, 2)
        state = self.host.call("Save", policy_pb2.SaveRequest(name="a-1"), policy_pb2.SaveReply).state
        self.assertEqual(json.loads(state), ["a-1", 2, 8.0])
        self.assertEqual(self.host.call("Load", policy_pb2.LoadRequest(), policy_pb2.LoadReply).version, 0)
        self.assertEqual(self.host.call("Load", policy_pb2.LoadRequest(state=state), policy_pb2.LoadReply).version, 2)
        self.assertEqual(self.host.learn(part([1], seed=13)).fault.kind, "numeric")

    # Promise: the process lives until it is told to go, and goes when it is.
    def test_end(self):
        self.assertEqual(self.host.raw("/grpc.health.v1.Health/Check"), b"\x08\x01")
        self.configure()
        self.host.process.send_signal(signal.SIGINT)
        self.assertEqual(self.host.raw("/grpc.health.v1.Health/Check"), b"\x08\x01")
        self.host.raw("/plugin.GRPCController/Shutdown")
        self.assertEqual(self.host.process.wait(10), 0)
        self.assertEqual(os.listdir(self.host.folder.name), [])

    # Promise: before Configure nothing is done, and that is said.
    def test_unconfigured(self):
        self.assertEqual(self.host.call("Publish", policy_pb2.PublishRequest(), policy_pb2.PublishReply).fault.kind, "protocol")


class Alone(unittest.TestCase):
    # Promise: the example of the README works; a policy that does not learn says so.
    def test_example(self):
        host = Host(sys.executable, "-B", os.path.join(os.path.dirname(__file__), "greeter.py"))
        self.addCleanup(host.close)
        reply = host.call("Configure", policy_pb2.PolicyRequest(options=b'{"greeting": "Hi"}'), policy_pb2.PolicyReply)
        self.assertFalse(reply.spec.learns)
        stream = Stream(host)
        stream.send(id=1, text="you")
        self.assertEqual(stream.take(1)[1].decision.raw, "Hi, you")

    # Promise: started by hand, a plug-in says what it is and leaves.
    def test_by_hand(self):
        env = {k: v for k, v in os.environ.items() if k != "MERIT_PLUGIN"}
        done = subprocess.run(TALLY, capture_output=True, text=True, env=env, timeout=60)
        self.assertEqual(done.returncode, 2)
        self.assertIn("tally 1.2.3 is a plug-in of Merit: Adds up.", done.stderr)

    # Promise: a plug-in does not outlive its host.
    def test_orphan(self):
        script = f"import sys; sys.path[:0] = {sys.path!r}; from host import Host; h = Host(*{TALLY!r}); print(h.process.pid); sys.stdout.flush(); import os; os._exit(0)"
        pid = int(subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60).stdout)
        end = getattr(os, "pidfd_open", None)
        if end is not None:
            import select

            try:
                fd = os.pidfd_open(pid)
            except ProcessLookupError:
                return
            self.assertTrue(select.select([fd], [], [], 20)[0], "still there")

    # Promise: options are decoded by their types, and a check comes behind that.
    def test_options(self):
        self.assertEqual(options.decode(Options, b'{"inner": {"rate": 1}}').inner.rate, 1.0)
        self.assertEqual(options.decode(Options, b""), Options())
        for raw, where in {b'{"start": true}': "options.start", b'{"start": null}': "options.start", b'{"start": -1}': "options.start"}.items():
            with self.assertRaises(Faults) as caught:
                options.decode(Options, raw)
            self.assertEqual([f.where for f in caught.exception.all], [where])


if __name__ == "__main__":
    unittest.main()
