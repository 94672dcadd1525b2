"""Tests of environments within the process: what the SDK makes of what authors say."""

import json
import math
import unittest

import merit_plugin
from corridor import Corridor, Options
from exchange import RESET, SKIP, STEP, ask, batch
from merit_plugin import Fault, Features, _columns
from merit_plugin._proto import environment_pb2
from merit_plugin._slots import Slots

FAILED = 4


class Says(merit_plugin.Environment):
    """Does with its turn what the text says."""

    feature_shape = (2,)
    tools = ({"type": "function", "function": {"name": "ear"}},)

    def reset(self, seed, turn):
        self.heard = f"seed {seed}"
        turn.anchor, turn.features = self.heard, (0.5, 1)
        turn.task([{"role": "user", "content": "Listen."}], ground_truth=seed, metadata={"a": [1]}, id="t")

    def step(self, action, turn):
        turn.anchor, turn.features = f"{self.heard},{action}", Features([1, 2])
        exec(action, {"turn": turn, "math": math})

    def snapshot(self):
        return self.heard.encode()

    def restore(self, state):
        self.heard = state.decode()


class InProcess(unittest.TestCase):
    def setUp(self):
        self.slots = Slots(Says, None, "train", 3)
        self.first = ask(self.slots, [RESET] * 3, seeds=[2**64 - 1, 1, 2], texts=[])

    def say(self, *texts):
        return ask(self.slots, [STEP] * len(texts) + [SKIP] * (3 - len(texts)), texts=texts)

    # Promise: what a slot says arrives in its row of every column.
    def test_columns(self):
        self.assertEqual(self.first.anchors, [f"seed {2**64 - 1}", "seed 1", "seed 2"])
        self.assertEqual(self.first.texts, ["Listen."] * 3)
        self.assertEqual(self.first.features, [0.5, 1.0] * 3)
        self.assertEqual(json.loads(self.first.events[1][3]), {"id": "t", "messages": [{"role": "user", "content": "Listen."}], "ground_truth": 1, "metadata": {"a": [1]}})
        r = self.say("turn.tool('ear', 'ü'); turn.info('k', [1]); turn.metric('m', 2); turn.reward = 0.25; turn.text = 't'", "turn.terminated = turn.invalid_action = True")
        self.assertEqual((r.flags, r.reward, r.texts[0], r.features[2:4]), ([0, 9, 0], [0.25, 0, 0], "t", [1, 2]))
        self.assertEqual(r.events, [(0, "tool_result", "ear", "ü"), (0, "info", "k", "[1]"), (0, "metric", "m", "2.0")])

    # Promise: columns that nobody wants are not sent, and the others still are.
    def test_wants(self):
        r = ask(self.slots, [SKIP, STEP, SKIP], texts=["turn.info('w', [turn.wants_text, turn.wants_features])"], want=0)
        self.assertEqual((r.texts, r.features, r.events[0][3], len(r.anchors)), ([], [], "[false, false]", 3))

    # Promise: what the host would end the process for costs its slot only, with the
    # exception and where it was.
    def test_failures(self):
        for text, why in {
            "turn.reward = math.nan": "ValueError: reward is nan",
            "turn.reward = 'x'": "TypeError: must be real number, not str",
            "turn.features = [math.inf, 0]": "ValueError: features are not all finite",
            "turn.features = [1]": "ValueError: there are 1 features, not 2",
            "turn.features = None": "ValueError: there are no features",
            "turn.features = ['x', 1]": "TypeError: must be real number, not str",
            "turn.anchor = '\\ud800'": "UnicodeEncodeError: 'utf-8'",
            "turn.anchor = b'\\xff'": "UnicodeDecodeError: 'utf-8'",
            "turn.anchor = 7": "TypeError: anchor and text are str or UTF-8",
            "turn.text = 'x' * 2**21": "ValueError: an anchor or text has 2097152 bytes",
            "turn.info('x', math.nan)": "ValueError: Out of range float values",
            "turn.metric('a b', 1)": "ValueError: a metric is named with letters",
            "turn.metric('a', math.inf)": "ValueError: metric a is inf",
            "turn.task()": "ValueError: a task in the middle of an episode",
            "[turn.tool('a', 'b') for _ in range(17)]": "ValueError: more than 16",
            "turn.terminate = True": "AttributeError: ",
            "1 / 0": "ZeroDivisionError: division by zero (",
        }.items():
            with self.subTest(text):
                self.setUp()
                r = self.say("", text)
                self.assertEqual(r.flags, [0, FAILED, 0])
                self.assertEqual([e[:3] for e in r.events], [(1, "error", "")])
                self.assertTrue(r.events[0][3].startswith(why), r.events[0][3])
                self.assertEqual(self.say("", "").events[0][3], "stepped after it failed; only a reset helps")

    # Promise: only an episode that goes on is stepped.
    def test_states(self):
        self.say("turn.truncated = True")
        self.assertEqual(self.say("").events[0][3], "stepped after the end of its episode")
        self.assertEqual(ask(Slots(Says, None, "train", 1), [STEP], texts=[""]).events[0][3], "stepped before its first reset")

    # Promise: a snapshot of one slot puts another back, whatever that was at.
    def test_snapshot(self):
        self.slots.restore(2, self.slots.snapshot(1))
        self.assertEqual(self.say("", "", "").anchors[2], "seed 1,")

    # Promise: what encode sets arrives as the observation of one slot, its action as an
    # index; a refusal and a defect are told apart, and neither is an observation.
    def test_encode(self):
        class Reads(Corridor):
            def encode(self, messages, answer, turn):
                if not messages[-1].startswith("You are "):
                    turn.refuse("no corridor")
                self.at = int(messages[-1].split()[2])
                self.look(turn)
                turn.mask = [self.at > 0, True]
                return {"index": 1, "name": "left", "none": None, "far": 2, "odd": "up"}[answer]

        slots = Slots(Reads, Options(), "train", 2)
        for answer, action in (("index", 1), ("name", 0), ("none", -1)):
            parts, got = slots.encode(["older", "You are 0 steps from the wall."], answer)
            said = environment_pb2.BatchReply.FromString(b"".join(parts))
            self.assertEqual((said.anchor, said.mask, got), (b"0", b"\0\1", action))
            self.assertEqual(list(memoryview(said.features).cast("f")), [1, 0, 0, 0, 0])
        with self.assertRaises(Fault) as refused:
            slots.encode(["Hello!"], "none")
        self.assertEqual((refused.exception.boundary, refused.exception.kind), ("data", "refused"))
        for text, answer, why in (("You are 9.5", "none", "invalid literal"), ("You are 1 x", "far", "action 2 of 2"), ("You are 1 x", "odd", "'up'")):
            with self.assertRaisesRegex(ValueError, why):
                slots.encode([text], answer)

    # Promise: a mask has a value for each action and leaves one while the episode
    # goes on; a reward right after a reset is none.
    def test_mask(self):
        class Masked(Corridor):
            mask, reward = None, 0.0

            def look(self, turn):
                super().look(turn)
                turn.mask, turn.reward = self.mask, self.reward

        for mask, reward, why in (
            ([True, False], 0, ""), ([1, 0], 0, ""), (b"\2\0", 0, "neither 0 nor 1"), ([1], 0, "1 values for 2 actions"),
            ([0, 0], 0, "no action is available"), (None, 1, "right after a reset"),
        ):
            Masked.mask, Masked.reward = mask, reward
            r = ask(Slots(Masked, Options(), "train", 1), [RESET], seeds=[1])
            self.assertIn(why, r.events[0][3] if why else "")
            self.assertEqual(r.mask, [0, 0] if why else [1, 0])

    # Promise: a message that is none, or does not fit, is refused as a whole.
    def test_garbage(self):
        good = batch([STEP], texts=["x"])
        for raw in (b"\xff" * 40, b"\x12\x05ab", good[:-1] + b"\xff", b"\x12\x01\x03", batch([RESET] * 3), batch([RESET], seeds=[1, 2]), batch([STEP], texts=[])):
            with self.assertRaises(Fault):
                _columns.Batch(raw, 1, 0)
        broken = bytearray(good)
        for i in range(len(good)):
            for value in (0, 127, 255):
                broken[:] = good
                broken[i] = value
                try:
                    _columns.Batch(bytes(broken), 1, 0)
                except (Fault, UnicodeDecodeError):
                    pass

    # Promise: the splits of the example share no stream of random numbers, and its
    # way out ends the episode.
    def test_corridor(self):
        slots = Slots(Corridor, Options(length=4), "train", 1)
        r = ask(slots, [RESET], seeds=[3])
        while not r.flags[0]:
            r = ask(slots, [STEP], actions=[1])
        self.assertEqual((r.flags, r.reward, r.anchors, r.features, r.events[0][:3]), ([1], [1.0], ["3"], [0, 0, 0, 1], (0, "metric", "steps")))
        starts = {split: [ask(Slots(Corridor, Options(length=50), split, 1), [RESET], seeds=[s]).anchors[0] for s in range(8)] for split in merit_plugin.SPLITS}
        self.assertEqual(len({tuple(s) for s in starts.values()}), 3)


if __name__ == "__main__":
    unittest.main()
