"""Tests of what steps all slots at once, within the process. They need numpy."""

import sys
import unittest
from importlib.util import find_spec
from pathlib import Path

from exchange import RESET, SKIP, STEP, ask

import merit_plugin
import merit_plugin._plain
from merit_plugin._proto import environment_pb2

sys.path.append(str(Path(__file__).parent.parent / "bench"))


@unittest.skipUnless(find_spec("numpy"), "numpy is not there")
class Together(unittest.TestCase):
    # Promise: the same environment, written for a slot and for all, says the same.
    def test_table(self):
        import table
        from merit_plugin import _slots, _vector

        one, all = _slots.Slots(table.Slot, None, "train", 4), _vector.Slots(table.vector(), None, "train", 4)
        ops, step = [RESET] * 4, 0
        for step in range(120):
            asked = {"ops": ops, "actions": [(step * 7 + s * 3) // 2 % 4 for s in range(4)], "seeds": [step + s for s in range(4) if ops[s] == RESET]}
            a, b = ask(one, **asked), ask(all, **asked)
            for name in ("texts", "features", "reward", "flags", "mask", "events"):
                got = [getattr(x, name) for x in (a, b)]
                width = len(got[0]) // 4
                for s in (s for s in range(4) if ops[s] != SKIP):
                    self.assertEqual(*(g[s * width : (s + 1) * width] for g in got), name)
            ops = [RESET if a.flags[s] else SKIP if ops[s] != SKIP and (step + s) % 5 == 0 else STEP for s in range(4)]

    # Promise: what is wrong in some rows fails those, what is wrong with a column all.
    def test_failures(self):
        import numpy as np
        from merit_plugin import _vector

        class Broken(merit_plugin.Vector):
            actions, feature_shape = ("a", "b"), (2,)
            what = ""

            def reset(self, rows, seeds, turns):
                turns.anchor = [str(s) for s in range(self.slots)]

            def step(self, rows, actions, turns):
                turns.anchor = np.array(["x"] * self.slots, "S3")
                exec(self.what, {"turns": turns, "rows": rows, "np": np, "actions": actions})

        def after(what):
            slots = _vector.Slots(Broken, None, "train", 3)
            ask(slots, [RESET] * 3, seeds=[1, 2, 3])
            Broken.what = what
            return ask(slots, [STEP, STEP, SKIP], actions=[1, 0, 0])

        for what, why in {
            "turns.reward[1] = np.nan": "ValueError: reward is nan",
            "turns.features[1, 0] = np.inf": "ValueError: features are not all finite",
            "turns.mask[1] = False": "ValueError: the episode goes on",
            "turns.anchor = ['x', b'\\xff', 'z']": "UnicodeDecodeError: ",
            "turns.fail(1, 'no more')": "no more",
            "[turns.info(1, 'a', 1) for _ in range(17)]": "ValueError: 17 tool results",
        }.items():
            r = after(what)
            self.assertEqual(([f & 4 for f in r.flags], [e[:3] for e in r.events]), ([0, 4, 0], [(1, "error", "")]), what)
            self.assertTrue(r.events[0][3].startswith(why), r.events[0][3])
        for what in ("turns.reward = np.zeros(2)", "turns.reward = 1j", "turns.mask = np.ones(3, int)", "turns.anchor = ['x']"):
            with self.assertRaises((TypeError, ValueError), msg=what):
                after(what)


@unittest.skipUnless(find_spec("gymnasium"), "gymnasium is not there")
class Gymnasium(unittest.TestCase):
    def wrapped(self, make, slots=3, vector=False, options=None, **said):
        from merit_plugin import _slots, _vector, gymnasium

        kind = gymnasium.Together if vector else gymnasium.Single
        cls = gymnasium.wrapped(kind, gymnasium.Wrapping(gymnasium.maker(make, vector) if isinstance(make, str) else make, **said))
        return (_vector if vector else _slots).Slots(cls, options or merit_plugin._plain.offered(cls, None)[1](), "train", slots)

    # Promise: spaces become actions, anchors and features; an id alone is enough.
    def test_spaces(self):
        lake = self.wrapped("FrozenLake-v1", actions=("left", "down", "right", "up"))
        self.assertEqual((lake.described.feature_shape, lake.described.max_steps), ((16,), 100))
        r = ask(lake, [RESET] * 3, seeds=[1, 2, 2**64 - 1])
        self.assertEqual((r.anchors, r.features[:16]), (["0"] * 3, [1.0] + [0.0] * 15))
        pole = self.wrapped("CartPole-v1", text=lambda seen: f"{len(seen)} numbers")
        r = ask(pole, [RESET] * 3, seeds=[1, 2, 1])
        self.assertRegex(r.anchors[0], r"^-?0\.\d{3}(,-?0\.\d{3}){3}$")
        self.assertEqual((r.anchors[0], r.texts), (r.anchors[2], ["4 numbers"] * 3))
        self.assertNotEqual(r.anchors[0], r.anchors[1])

    # Promise: a text that encode turns into an observation has its anchor and features,
    # also in a VectorEnv; None refuses it, and what is outside the space is a defect.
    def test_encode(self):
        import gymnasium as gym

        def encode(text):
            return int(text.split()[-1]) if text.startswith("cell") else None

        for lake in (
            self.wrapped("FrozenLake-v1", encode=encode),
            self.wrapped(lambda slots: gym.make_vec("FrozenLake-v1", slots, vectorization_mode="sync"), vector=True, encode=encode),
        ):
            parts, action = lake.encode(["older", "cell 3"], "1")
            said = environment_pb2.BatchReply.FromString(b"".join(parts))
            self.assertEqual((said.anchor, list(memoryview(said.features).cast("f")).index(1), action), (b"3", 3, -1))
            with self.assertRaises(merit_plugin.Fault):
                lake.encode(["Hello!"], "1")
            with self.assertRaisesRegex(ValueError, "not in the observation space"):
                lake.encode(["cell 16"], "1")

    # Promise: the same episode comes from an Env and from a VectorEnv.
    def test_vector(self):
        import gymnasium as gym

        def made(slots):
            return gym.make_vec("CartPole-v1", slots, vectorization_mode="sync")

        one, all = self.wrapped("CartPole-v1"), self.wrapped(made, vector=True)
        ops = [RESET] * 3
        for step in range(40):
            seeds = [step + s for s in range(3) if ops[s] == RESET]
            a, b = (ask(x, ops, actions=[step % 2] * 3, seeds=seeds) for x in (one, all))
            for s in range(3):
                if ops[s] != SKIP:
                    self.assertEqual((a.anchors[s], a.reward[s], a.flags[s]), (b.anchors[s], b.reward[s], b.flags[s]))
            ops = [RESET if f else SKIP if (step + s) % 7 == 0 and ops[s] != SKIP else STEP for s, f in enumerate(a.flags)]
            ops = [STEP if o == SKIP and a.flags[s] == 0 and step % 2 else o for s, o in enumerate(ops)]

    # Promise: a VectorEnv that resets by a mask steps as a whole, with the seeds of
    # its episodes, its masks and its ends; what has to wait fails alone.
    def test_lockstep(self):
        slots = self.wrapped(counting(), vector=True)
        r = ask(slots, [RESET] * 3, seeds=[0, 1, 0])
        self.assertEqual((r.anchors, r.mask), (["0", "3", "0"], [1, 1] * 3))
        r = ask(slots, [STEP] * 3, actions=[1, 0, 1])
        self.assertEqual((r.anchors, r.reward, r.mask), (["1", "3", "1"], [1, 0, 1], [1, 1, 1, 1, 1, 1]))
        r = ask(slots, [STEP] * 3, actions=[0, 1, 1])
        self.assertEqual((r.anchors, r.flags, r.mask[2:]), (["1", "4", "2"], [0, 1, 0], [1, 1, 1, 0]))
        r = ask(slots, [STEP, RESET, SKIP], actions=[1, 0, 0], seeds=[0])
        self.assertEqual((r.anchors[:2], r.flags), (["2", "0"], [0, 0, 4]))
        self.assertIn("none can wait", r.events[0][3])

    # Promise: what cannot be wrapped is refused, with why and what to do.
    def test_refusals(self):
        import gymnasium as gym

        class Odd(gym.Env):
            def __init__(self, action=gym.spaces.Discrete(2), observation=gym.spaces.Discrete(2)):
                self.action_space, self.observation_space = action, observation

        for why, make, vector in (
            ("the action space is Box", lambda: Odd(action=gym.spaces.Box(0, 1)), False),
            ("the observation space is Sequence", lambda: Odd(observation=gym.spaces.Sequence(gym.spaces.Discrete(2))), False),
            ("resets by itself", lambda: gym.wrappers.Autoreset(Odd()), False),
            ("one for each slot is wanted", lambda: gym.make_vec("FrozenLake-v1", 2), False),
            ("CartPoleVectorEnv resets by itself (AutoresetMode.NEXT_STEP)", lambda n: gym.make_vec("CartPole-v1", n), True),
            ("not a VectorEnv", lambda n: gym.make("CartPole-v1"), True),
            ("2 environments are made for 3 slots", lambda n: gym.make_vec("FrozenLake-v1", 2), True),
            ("Gymnasium does not make the environment", "NoSuchThing-v0", False),
        ):
            with self.assertRaises(merit_plugin.Fault, msg=why) as caught:
                self.wrapped(make, vector=vector)
            self.assertIn(why, str(caught.exception))


def counting():
    """A VectorEnv that counts, up to 4; a seed that is not 0 begins at 3."""
    import gymnasium as gym
    import numpy as np

    class Counting(gym.vector.VectorEnv):
        metadata = {"autoreset_mode": gym.vector.AutoresetMode.DISABLED}

        def __init__(self, slots):
            self.num_envs = slots
            self.single_action_space, self.single_observation_space = gym.spaces.Discrete(2), gym.spaces.Discrete(9)
            self.action_space, self.observation_space = (gym.vector.utils.batch_space(s, slots) for s in (self.single_action_space, self.single_observation_space))
            self.at = np.zeros(slots, int)

        def reset(self, *, seed=None, options=None):
            for i in np.flatnonzero(options["reset_mask"]):
                self.at[i] = 3 if seed[i] else 0
            return self.at.copy(), self.info()

        def step(self, actions):
            self.at += actions
            return self.at.copy(), actions.astype(float), self.at >= 4, np.zeros(self.num_envs, bool), self.info()

        def info(self):
            return {"action_mask": np.stack([np.ones(self.num_envs, bool), self.at != 2], axis=1)}

    return Counting


if __name__ == "__main__":
    unittest.main()
