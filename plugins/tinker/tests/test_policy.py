"""The policy against a service that can be told to fail."""

import asyncio
import dataclasses
import gzip
import json
import os
import tempfile
import threading
import unittest
from array import array
from unittest import mock

import numpy as np
import samples
from fake import PROTO, Fake

from merit_plugin import Fault, Faults, Request, Sequence, Setup, options
from merit_tinker import policy, prompt, service, transport
from merit_tinker.options import Options
from merit_tinker.policy import TinkerPolicy

FOLDER = tempfile.mkdtemp(prefix="merit-tokenizer-")
samples.tokenizer().save_pretrained(FOLDER)
timer = threading.Timer(1200, lambda: (print("the tests hang"), os._exit(1)))
timer.daemon = True
timer.start()


def request(text="at 1", seed=5, greedy=False, tokens=(), covered=0, messages=None):
    messages = messages or [{"role": "user", "content": text}]
    return Request(messages, text, array("f"), b"", seed, greedy, array("i", tokens), covered)


def sequence(decision, advantage, weight=1.0):
    n, m = len(decision.prompt), len(decision.tokens)
    column = lambda x: array("f", [0.0] * n + x)
    return Sequence(
        array("i", [*decision.prompt, *decision.tokens]), bytes(n) + b"\1" * m, column(list(decision.log_probs)), column([advantage] * m), column([weight] * m)
    )


class Base(unittest.IsolatedAsyncioTestCase):
    def fake(self, **settings):
        fake = Fake(**settings)
        self.addCleanup(fake.close)
        return fake

    async def policy(self, fake, learn=True, updates=0, **given):
        o = options.decode(Options, json.dumps({"url": fake.url, "tokenizer": FOLDER, "max_tokens": 3, "batch": 4, "patience": 3.0, "queue": 0.0, **given}).encode())
        p = TinkerPolicy(o, Setup(seed=7, learn=learn, updates=updates))
        self.addAsyncCleanup(p.close)
        p.spec = await p.describe()
        return p

    async def fault(self, awaitable):
        with self.assertRaises((Fault, Faults)) as caught:
            await awaitable
        return caught.exception


class Acting(Base):
    # Promise: an answer is the tokens, their log-probabilities, the text with the prefill, and why it ended.
    async def test_act(self):
        p = await self.policy(self.fake(), prefill="Move:")
        d = await p.act(request())
        self.assertEqual((len(d.tokens), len(d.log_probs), d.version, d.info), (3, 3, 0, {"finish": "length"}))
        self.assertAlmostEqual(d.log_prob, sum(d.log_probs))
        self.assertEqual(d.raw, "Move:" + p.prompts.decode(d.prompt, d.tokens))
        self.assertTrue(p.prompts.tokenizer.decode(d.prompt).endswith("assistant\nMove:"))

    # Promise: what is sampled depends on prompt, seed and weights, not on what is asked beside it.
    async def test_seeds(self):
        fake = self.fake()
        p = await self.policy(fake)
        alone = [(await p.act(request(seed=s))).tokens for s in (5, 2**63 + 5)]
        beside = await asyncio.gather(*(p.act(request(seed=s)) for s in (2**63 + 5, 1, 5, 9)))
        self.assertEqual(alone, [beside[2].tokens, beside[0].tokens])
        self.assertTrue(all(0 <= r["sampling_params"]["seed"] < 2**31 - 1 for r in fake.requests))
        greedy = [(await p.act(request(seed=s, greedy=True))).tokens for s in (1, 2)]
        self.assertEqual(greedy[0], greedy[1])

    # Promise: a conversation that no longer fits ends the episode, with nothing asked.
    async def test_context(self):
        fake = self.fake()
        p = await self.policy(fake, context=40)
        d = await p.act(request("x" * 100))
        self.assertEqual((d.stop, list(d.tokens), fake.requests), ("context", [], []))

    # Promise: nonsense of the service is a fault, never an answer.
    async def test_nonsense(self):
        fake = self.fake()
        p = await self.policy(fake)

        def few(a):
            a.sequences[0].logprobs = a.sequences[0].logprobs[4:]

        def none(a):
            a.sequences[0].logprobs = b""

        def nan(a):
            a.sequences[0].logprobs = np.array([np.nan] * 3, "<f4").tobytes()

        def positive(a):
            a.sequences[0].logprobs = np.array([0.5] * 3, "<f4").tobytes()

        def foreign(a):
            a.sequences[0].tokens = np.array([99999] * 3, "<i4").tobytes()

        def two(a):
            a.sequences.add().CopyFrom(a.sequences[0])

        for change, kind in ((few, "protocol"), (none, "protocol"), (nan, "numeric"), (positive, "numeric"), (foreign, "protocol"), (two, "protocol")):
            fake.answer = change
            f = await self.fault(p.act(request()))
            self.assertEqual((f.boundary, f.kind, f.retry), ("learner", kind, False), change.__name__)
        fake.answer = None
        await p.act(request())

    # Promise: the plug-in retries if the service says "again", "busy" or nothing readable.
    async def test_patience(self):
        fake = self.fake()
        p = await self.policy(fake)
        fake.faults = {
            "retrieve_future": [(408, "application/json", b"{}"), (500, "text/plain", b"Internal Server Error"), (408, "application/json", b"{}")],
            "asample": [(503, "text/plain", b"")],
        }
        self.assertEqual(len((await p.act(request())).tokens), 3)

    # Promise: what fails for ever is a fault of its request only.
    async def test_broken(self):
        fake = self.fake()
        p = await self.policy(fake)
        await p.act(request())
        fake.faults = {"retrieve_future": [(500, "text/plain", b"Internal Server Error")] * 50}
        with mock.patch.object(transport, "BROKEN", 0.5), mock.patch.object(transport, "PAUSE", 0.1):
            f = await self.fault(p.act(request()))
        self.assertEqual((f.kind, f.retry), ("protocol", False))
        fake.faults = {}
        await p.act(request())

    # Promise: no redirect is followed, for the key would go along, and no answer fills the memory.
    async def test_hostile(self):
        fake, other = self.fake(), self.fake()
        p = await self.policy(fake)
        await p.act(request())
        before = len(other.calls)
        fake.faults = {"retrieve_future": [(307, "text/plain", (other.url + "/api/v1/retrieve_future").encode())] * 9}
        self.assertEqual((await self.fault(p.act(request()))).retry, False)
        self.assertEqual(len(other.calls), before)
        fake.faults = {"retrieve_future": [(200, PROTO, bytes(1 << 20))] * 9}
        with mock.patch.object(transport, "MAX_BODY", 1 << 16):
            self.assertIsInstance(await self.fault(p.act(request())), Fault)
        fake.packing, fake.faults = "gzip", {"asample": [(200, "application/json", gzip.compress(bytes(1 << 24)))] * 9}
        f = await self.fault(p.act(request()))
        self.assertEqual((f.kind, f.retry), ("refused", False))
        self.assertIn("packed", f.what)

    # Promise: the key is sent to the service and shown to nobody.
    async def test_key(self):
        fake = self.fake()
        with mock.patch.dict(os.environ, {"MY_KEY": "tml-secret"}):
            p = await self.policy(fake, key_env="MY_KEY")
            fake.faults = {"asample": [(401, "application/json", b'{"detail": "no"}')] * 99}
            f = await self.fault(p.act(request()))
        self.assertEqual((f.boundary, f.where, f.retry), ("config", "options.key_env", False))
        self.assertNotIn("secret", f"{f.what}{f.hint}{dataclasses.asdict(p.options)}")


class Refusing(Base):
    # Promise: what cannot work is refused when it is configured, all of it at once.
    async def test_at_once(self):
        f = await self.fault(self.policy(self.fake(models=("a-model", "other")), base_model="amodel", temperature=0.5, top_k=3))
        self.assertEqual([(x.where, x.kind) for x in f.all], [(f"options.{k}", "invalid") for k in ("temperature", "top_k", "base_model")])
        self.assertEqual(f.all[2].hint, "did you mean 'a-model'?")
        f = await self.fault(self.policy(self.fake(models=("a-model", "other"))))
        self.assertEqual(f.all[0].hint, "the service offers a-model, other")
        f = await self.fault(self.policy(self.fake(), loss="dro", url="x:y", max_tokens=0, stop=[""]))
        self.assertEqual([x.where for x in f.all], ["options.loss"])
        f = await self.fault(self.policy(self.fake(), url="x:y", max_tokens=0, stop=[""], context=-1))
        self.assertEqual([x.where for x in f.all], [f"options.{k}" for k in ("url", "max_tokens", "context", "stop")])
        f = await self.fault(self.policy(self.fake(), url="https://service.invalid", key_env="NO_SUCH_KEY"))
        self.assertEqual([x.where for x in f.all], ["options.key_env"])
        f = await self.fault(self.policy(self.fake(), tokenizer=FOLDER + "/none"))
        self.assertEqual([x.where for x in f.all], ["options.tokenizer"])

    # Promise: a service that is not there is waited for, and then said to be missing.
    async def test_absent(self):
        fake = self.fake()
        fake.faults = {"healthz": [(503, "text/plain", b"")] * 2}
        await self.policy(fake)
        fake.close()
        f = (await self.fault(self.policy(fake, patience=1.0))).all[0]
        self.assertEqual((f.kind, f.where, f.retry), ("missing", "options.url", True))

    # Promise: a rank that the service does not allow is a fault of the option.
    async def test_rank(self):
        f = await self.fault(self.policy(self.fake(rank=4), lora_rank=5))
        self.assertEqual((f.boundary, f.where), ("config", "options.lora_rank"))

    # Promise: a taken slot is waited for, not while the policy is configured; there is an end to that.
    async def test_slots(self):
        fake = self.fake()
        first = await self.policy(fake)
        self.assertEqual((await self.fault((await self.policy(fake)).act(request()))).kind, "exhausted")
        with mock.patch.object(service, "SLOT", 0.05), mock.patch.object(policy, "EARLY", 0.1):
            second = await self.policy(fake, queue=30.0)
            waiting = asyncio.create_task(second.act(request()))
            while fake.calls.count("create_model") < 8:
                await asyncio.sleep(0.01)
            await first.close()
            self.assertEqual(len((await waiting).tokens), 3)

    # Promise: without anything to learn the base model acts, and no slot is held.
    async def test_base(self):
        fake = self.fake()
        p = await self.policy(fake, learn=False, temperature=0.5)
        await p.act(request())
        await p.load(b"")
        await p.act(request())
        self.assertNotIn("create_model", fake.calls)


class Learning(Base):
    async def update(self, p, seed=3, advantages=(1.0, -1.0, 0.5, 2.0, -0.3), weights=(1.0, 2.0, 1.0, 0.5, 1.0)):
        decisions = [await p.act(request(f"at {'x' * (7 * i)}", seed=i)) for i in range(len(advantages))]
        stats = await p.learn([sequence(d, a, w) for d, a, w in zip(decisions, advantages, weights)], seed)
        await p.publish()
        return decisions, stats

    # Promise: the gradient is that of the weighted mean of the token losses, whatever the service does with them.
    async def test_gradient(self):
        a, w = np.array([1.0, -1.0, 0.5, 2.0, -0.3]), np.array([1.0, 2.0, 1.0, 0.5, 1.0])
        for average in ("token", "sequence"):
            for reduction in ("mean", "sum"):
                fake = self.fake(reduction=reduction)
                p = await self.policy(fake, average=average, reduction=reduction, learning_rate=0.1)
                decisions, stats = await self.update(p)
                expected = np.zeros(fake_size := 259)
                for d, ai, wi in zip(decisions, a, w):
                    share = wi / (3 * w.sum()) if average == "token" else 1 / 15
                    for t in d.tokens:
                        expected[t] -= ai * share
                        expected += ai * share / fake_size
                got = fake.models[p._service.held]["gradient"]
                np.testing.assert_allclose(got, expected, atol=1e-6, err_msg=f"{average} {reduction}")
                self.assertAlmostEqual(stats.grad_norm, np.linalg.norm(expected), 5)
                self.assertEqual((stats.sequences, stats.tokens, stats.minibatches, stats.learning_rate, p.version), (5, 15, 1, 0.1, 1))
                self.assertAlmostEqual(stats.loss, -(a @ w) / w.sum(), 5)
                self.assertAlmostEqual(stats.entropy, np.log(259), 4)
                self.assertLess(stats.drift_max, 1e-6)
                self.assertAlmostEqual(stats.ratio, 1, 5)

    # Promise: answers of others become tokens without being sampled, and imitating them takes the
    # gradient of their weighted log-likelihood, whatever the loss and the reduction are.
    async def test_imitation(self):
        a, w = np.array([1.0, 3.0]), np.array([1.0, 0.5])
        for loss in ("importance_sampling", "ppo"):
            for reduction in ("mean", "sum"):
                fake = self.fake(reduction=reduction)
                p = await self.policy(fake, loss=loss, reduction=reduction, learning_rate=0.1)
                self.assertTrue(p.spec.imitates)
                decisions = []
                for text in ("L", "RR"):
                    r = request(messages=[{"role": "user", "content": "at 1"}, {"role": "assistant", "content": text}])
                    decisions.append(await p.act(dataclasses.replace(r, answered=True)))
                self.assertEqual([d.raw for d in decisions], ["L", "RR"])
                self.assertFalse([c for c in fake.calls if "sample" in c and "sampler" not in c])
                stats = await p.learn([dataclasses.replace(sequence(d, ai, wi), imitate=True) for d, ai, wi in zip(decisions, a, w)], 1)
                whole, expected = sum(wi * len(d.tokens) for d, wi in zip(decisions, w)), np.zeros(259)
                for d, ai, wi in zip(decisions, a, w):
                    for t in d.tokens:
                        expected[t] -= ai * wi / whole
                        expected += ai * wi / whole / 259
                np.testing.assert_allclose(fake.models[p._service.held]["gradient"], expected, atol=1e-6)
                self.assertAlmostEqual(stats.loss, sum(ai * wi * len(d.tokens) for d, ai, wi in zip(decisions, a, w)) / whole * np.log(259), 4)
                self.assertEqual((stats.kl, stats.ratio, stats.drift, stats.tokens), (0, 0, 0, 5))

    # Promise: what nobody will sample any more is not kept.
    async def test_tidy(self):
        fake = self.fake()
        p = await self.policy(fake)
        for _ in range(3):
            await self.update(p)
            await p._service._tidying
        self.assertEqual([len(v) for v in fake.published.values()], [1])

    # Promise: requests have one size, so that the service compiles one program.
    async def test_batches(self):
        fake = self.fake()
        p = await self.policy(fake)
        await self.update(p)
        self.assertEqual([len(r.data) for r in fake.requests if hasattr(r, "data")], [4, 4])

    # Promise: the same is sampled and learnt twice, with several steps, too.
    async def test_reproducible(self):
        results = []
        for _ in range(2):
            fake = self.fake()
            p = await self.policy(fake, epochs=2, minibatches=2, loss="ppo", learning_rate=2.0, schedule="linear", updates=4)
            results.append([await self.update(p), await self.update(p)])
            self.assertEqual([s.minibatches for _, s in results[-1]], [4, 4])
            self.assertEqual([s.learning_rate for _, s in results[-1]], [2.0, 1.5])
        self.assertEqual(repr(results[0]), repr(results[1]))
        self.assertGreater(results[0][0][1].kl, 0)

    # Promise: a state is where a learner stood, for this process and for another; empty is the beginning.
    async def test_states(self):
        fake = self.fake()
        p = await self.policy(fake, learning_rate=5.0)
        start = (await p.act(request())).log_prob
        await self.update(p)
        state, then = await p.save("update-1"), (await p.act(request())).log_prob
        again = await p.save("update-1")
        self.assertNotEqual(start, then)
        await self.update(p)
        later = (await p.act(request())).log_prob
        await p.load(state)
        self.assertEqual((p.version, (await p.act(request())).log_prob), (1, then))
        await self.update(p)
        self.assertEqual((await p.act(request())).log_prob, later)
        other = await self.policy(fake, learning_rate=5.0)  # the first is dead and holds the only slot
        await p.load(again)
        await other.load(json.dumps({**json.loads(state), "model": p._service.held}).encode())
        self.assertEqual((other.version, (await other.act(request())).log_prob), (1, then))
        await other.load(b"")
        self.assertEqual((other.version, (await other.act(request())).log_prob), (0, start))

    # Promise: a state of another plug-in or of other options is refused, and changes nothing.
    async def test_strange_states(self):
        p = await self.policy(self.fake())
        d = await p.act(request())
        good = json.loads(await p.save("x"))
        for change in ({"path": 3}, {"updates": True}, {"path": "/etc"}, {"lora_rank": 4}, {"base_model": "b"}):
            f = await self.fault(p.load(json.dumps({**good, **change}).encode()))
            self.assertFalse(f.retry)
        self.assertEqual((await self.fault(p.load(b"\1"))).kind, "corrupt")
        self.assertEqual((await p.act(request())).tokens, d.tokens)
        f = await self.fault(p.load(json.dumps({**good, "path": "tinker://gone/weights/x"}).encode()))
        self.assertIn("Checkpoint not found", f.what)

    # Promise: nothing to learn counts and changes nothing.
    async def test_nothing(self):
        fake = self.fake()
        p = await self.policy(fake)
        before = (await p.act(request())).log_probs
        d = await p.act(request())
        for sequences in ([], [sequence(d, 1.0, 0.0)]):
            await p.learn(sequences, 1)
            await p.publish()
        d = await p.act(request())
        self.assertEqual((p.version, d.version, d.log_probs), (2, 2, before))

    # Promise: numbers that would destroy the weights are not sent.
    async def test_numbers(self):
        fake = self.fake()
        p = await self.policy(fake)
        d = await p.act(request())
        self.assertEqual((await self.fault(p.learn([sequence(d, float("nan"))], 1))).kind, "invalid")
        self.assertNotIn("forward_backward", fake.calls)

    # Promise: after an update that broke off nothing goes on until a state is loaded; nothing is trained twice.
    async def test_broken_off(self):
        def few(r):
            r.loss_fn_outputs[0].fields["logprobs"].offsets = np.array([0, 4, 8, 12, 16], "<i8").tobytes()

        def nan(r):
            t = r.loss_fn_outputs[0].fields["logprobs"]
            t.data = np.full(len(t.data) // 4, np.nan, "<f4").tobytes()

        for change, kind in ((few, "protocol"), (nan, "numeric")):
            fake = self.fake()
            p = await self.policy(fake)
            d, state = await p.act(request()), await p.save("x")
            fake.result = change
            f = await self.fault(p.learn([sequence(d, 1.0)], 1))
            self.assertEqual((f.boundary, f.kind, f.retry), ("learner", kind, True))
            self.assertTrue((await self.fault(p.act(request()))).retry)
            self.assertEqual(p.version, 0)
            fake.result = None
            await p.load(state)
            self.assertEqual((await p.act(request())).tokens, d.tokens)

    # Promise: an update that the service refuses at once has changed nothing.
    async def test_refused(self):
        fake = self.fake()
        p = await self.policy(fake)
        d = await p.act(request())
        fake.faults = {"forward_backward": [(400, "application/json", b'{"detail": "unsupported loss"}')]}
        f = await self.fault(p.learn([sequence(d, 1.0)], 1))
        self.assertEqual((f.kind, f.retry), ("refused", False))
        await p.learn([sequence(d, 1.0)], 1)
        self.assertEqual(p.version, 1)

    # Promise: a service that was started anew has lost the weights, and says so to all; a state brings them back.
    async def test_restarted(self):
        fake = self.fake()
        p = await self.policy(fake)
        await self.update(p)
        state, then = await p.save("x"), (await p.act(request())).log_prob
        fake.restart()
        for call in (p.act(request()), p.act(request()), p.save("y")):
            f = await self.fault(call)
            self.assertEqual((f.boundary, f.kind, f.retry), ("learner", "crashed", True))
        await p.load(state)
        self.assertEqual((await p.act(request())).log_prob, then)

    # Promise: a service that dies is given up after a while, for all that is open.
    async def test_dies(self):
        fake = self.fake()
        with mock.patch.object(service, "WATCH", 0.1):
            p = await self.policy(fake, patience=1.0)
            await p.act(request())
            fake.close()
            faults = await asyncio.gather(*(p.act(request(seed=i)) for i in range(5)), return_exceptions=True)
        self.assertEqual({(f.boundary, f.kind, f.retry) for f in faults}, {("learner", "crashed", True)})

    # Promise: a request that is taken back takes back nothing that others wait for.
    async def test_taken_back(self):
        p = await self.policy(self.fake())
        first = asyncio.create_task(p.act(request()))
        second = asyncio.create_task(p.act(request()))
        await asyncio.sleep(0)
        first.cancel()
        self.assertEqual(len((await second).tokens), 3)
        with self.assertRaises(asyncio.CancelledError):
            await first


class Found(unittest.TestCase):
    # Promise: a model of an installed engine is found by its name, and how much it takes.
    def test_installed(self):
        with tempfile.TemporaryDirectory() as models, mock.patch.dict(os.environ, {"MERIT_MODELS": models}):
            os.makedirs(os.path.join(models, "small", "hf"))
            with open(os.path.join(models, "small", "hf", "config.json"), "w") as f:
                f.write('{"max_position_embeddings": 64}')
            self.assertEqual(prompt.config(prompt.find("small")), {"max_position_embeddings": 64})
            self.assertEqual((prompt.find("other"), prompt.config("other"), prompt.find("")), ("other", {}, ""))

    # Promise: the learning rate rises, falls, and is known for every update.
    def test_schedule(self):
        o = Options(learning_rate=1.0, warmup=2, schedule="linear")
        self.assertEqual([round(o.rate(i, 6), 3) for i in range(7)], [0.333, 0.667, 1.0, 0.75, 0.5, 0.25, 0.0])
        self.assertEqual(Options(learning_rate=1.0, schedule="cosine").rate(5, 10), 0.5)
        self.assertEqual(Options(learning_rate=1.0, schedule="cosine").rate(5, 0), 1.0)


if __name__ == "__main__":
    unittest.main()
