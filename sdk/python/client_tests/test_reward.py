"""What trainers get from a Reward."""

import asyncio
import inspect
import logging
import os
import pickle
import resource
import unittest

from servers import ANSWER, WithFolder

from merit_rl import Halt, InvalidInput, MeritError, NotFound, Reward, Rewards, Unscored, advantages, verl
from merit_rl._steps import Steps

MIXED = """
from merit_reward import EvaluateResult, MetricResult

def score(messages, ground_truth=None, level=None, **kwargs):
    text = messages[-1].content
    if text == "loop":
        while True:
            pass
    if text == "raise":
        raise ValueError("no answer in it")
    if text == "invalid":
        return EvaluateResult(score=0, is_score_valid=False, reason="nothing to compare")
    return EvaluateResult(score=len(text) + (level or 0), metrics={"length": MetricResult(score=len(text))})

def other(messages, bonus=0, **kwargs):
    return 100 + bonus
"""
LISTS = """
def rank(completions, **kwargs):
    return [float(sorted(map(len, completions)).index(len(c))) for c in completions]

def one(solution_str, ground_truth):
    return 1.0

def needs(completions, solutoin, level=None, **kwargs):
    return [float(s in c) for s, c in zip(solutoin, completions)]

def scored(completion, answer):
    return float(answer in completion)
"""
BOTH = """
from merit_reward import reward_function

@reward_function(mode="batch")
def ranked(rollouts_messages, **kwargs):
    return [len(messages) for messages in rollouts_messages]
"""


class TRL(WithFolder):
    # Promise: one value for each completion, None for those without a score, and never 0 in their place.
    def test_scores(self):
        reward = Reward(self.script(MIXED) + ":score", fuel=100_000_000)
        said = {}
        with self.assertLogs("merit_rl", "WARNING") as logs:
            for _ in range(2):
                got = reward(
                    prompts=["q"] * 5,
                    completions=["", "abc", "loop", "raise", "invalid"],
                    completion_ids=[[1]] * 5,
                    level=[0, 1, 2, 3, 4],
                    trainer_state=object(),
                    log_extra=print,
                    log_metric=lambda name, value: said.update({name: value}),
                )
        self.assertEqual(got, [0.0, 4.0, None, None, None])
        self.assertEqual({type(x) for x in got[:2]}, {float})
        outcomes = {f"merit/score/{o}": 1 for o in ("out_of_fuel", "guest_error", "invalid")}
        self.assertEqual(said, {"merit/score/unscored": 3, **outcomes, "score/length": 1.5})
        # Each outcome is said once, with the reason of the first.
        self.assertEqual(len(logs.output), 3)
        self.assertIn("1 of 5 completions have no score, as completion 3: guest_error: ", logs.output[1])
        self.assertIn("no answer in it", logs.output[1])
        reward(completions=["a"], log_metric=lambda name, value: said.update({name: value}))
        self.assertEqual((said["merit/score/out_of_fuel"], said["merit/score/unscored"]), (0, 0), "so means are means")

    # Promise: what the sandbox refused a reward while it was loaded is logged once, with its kind and its line, and its scores stand.
    def test_loaded_without(self):
        reward = Reward(self.script("try:\n    import orjson\nexcept ImportError:\n    import json\n\ndef score(completions, **kwargs):\n    return [float(len(c)) for c in completions]\n"))
        with self.assertLogs("merit_rl", "WARNING") as logs:
            for _ in range(2):
                self.assertEqual(reward(completions=["ab", "abc"]), [2.0, 3.0])
        said = [line for line in logs.output if "was loaded without" in line]
        self.assertEqual(len(said), 1, logs.output)
        self.assertRegex(said[0], r"loaded without orjson \(package, /reward/\w+\.py:2\): the sandbox does not have this")

    # Promise: whether a reward compares is what the server says of the function that is used.
    def test_compares(self):
        path = self.script(MIXED + BOTH)
        self.assertFalse(Reward(ANSWER).compares)
        one, all_of = Reward(path + ":score"), Reward(path + ":ranked")
        self.assertEqual((one.compares, all_of.compares), (False, True))
        for uploaded, function, want in ((one, "ranked", True), (all_of, "other", False), (all_of, "ranked", True)):
            said = uploaded.manifest()
            self.assertEqual(Reward(f"{said['name']}@{said['digest']}:{function}").compares, want)
        with self.assertRaisesRegex(Halt, "ranked: it compares the members of a group, and verl gives it no group"):
            verl.compute_score("sums", "4", "4", reward=all_of)

    # Promise: whoever wants an error instead has one, with the reasons.
    def test_raise(self):
        reward = Reward(self.script(MIXED) + ":score", on_unscored="raise")
        self.assertEqual(reward(completions=["ab"]), [2.0])
        with self.assertRaisesRegex(
            Unscored, r"score: 1 of 2 completions have no score\n  completion 1: invalid: nothing"
        ):
            reward(completions=["ab", "invalid"])
        with self.assertRaisesRegex(InvalidInput, 'use "none" or "raise"'):
            Reward(ANSWER, on_unscored="zero")

    # Promise: TRL finds its name, and whether it is asynchronous, as trl/trainer/utils.py of 1.16 looks for them.
    def test_as_trl_looks(self):
        reward = Reward(self.script(MIXED) + ":score")
        self.assertEqual((reward.__name__, reward.aio.__name__, Reward(ANSWER).__name__), ("score", "score", "answer"))
        self.assertEqual(Reward(ANSWER, name="right").__name__, "right")
        self.assertFalse(inspect.iscoroutinefunction(reward) or inspect.iscoroutinefunction(reward.__call__))
        self.assertTrue(inspect.iscoroutinefunction(reward.aio.__call__))
        self.assertTrue(inspect.iscoroutinefunction(reward.acall))

        async def several():
            calls = (reward.aio(prompts=["q"], completions=["a" * n]) for n in range(20))
            return await asyncio.gather(*calls)

        self.assertEqual(asyncio.run(several()), [[float(n)] for n in range(20)])
        again = pickle.loads(pickle.dumps(reward.aio))
        self.assertEqual(asyncio.run(again(completions=["abc"])), [3.0])

    # Promise: a score that float32 cannot hold does not become infinity in a trainer: there is none, and the log says so.
    def test_beyond_float32(self):
        reward = Reward(self.script("def score(completions, x, **k):\n    return x\n") + ":score")
        given, said = [1e308, -1e39, 3.4e38, 1e-45, -0.0], {}
        with self.assertLogs("merit_rl", "WARNING") as logs:
            got = reward(completions=["a"] * 5, x=given, log_metric=lambda name, value: said.update({name: value}))
        self.assertEqual(got, [None, None, 3.4e38, 1e-45, 0.0])
        self.assertIn("2 of 5 completions have no score, as completion 0: beyond_float32: ", logs.output[0])
        self.assertEqual(said["merit/score/unscored"], 2)
        with self.assertRaisesRegex(Halt, r"score 1e\+308|where 1e\+308 is infinite"):
            verl.compute_score("d", "a", "4", extra_info={}, reward=self.script("def score(**k):\n    return 1e308\n", "large.py"))

    # Promise: no completions have no scores.
    def test_none(self):
        self.assertEqual(Reward(ANSWER)(prompts=[], completions=[]), [])
        with self.assertRaisesRegex(InvalidInput, "completions are missing"):
            Reward(ANSWER)(["q"])


BEST = """
from merit_reward import reward_function

@reward_function(mode="batch")
def best(rollouts_messages, **kwargs):
    sizes = [len(m[-1].content) for m in rollouts_messages]
    return [float(s == max(sizes)) for s in sizes]
"""


class Trainer:
    """What TRL's trainers show to those whom they call: log_metric is a method of theirs."""

    def __init__(self, *reward_funcs, num_generations=4, num_generations_eval=2, training=True):
        self.reward_funcs, self.said = list(reward_funcs), {}
        self.num_generations, self.num_generations_eval = num_generations, num_generations_eval
        self.model = type("Model", (), {"training": training})

    def log_metric(self, name, value):
        self.said[name] = value

    def call(self, reward, **columns):
        return reward(log_metric=self.log_metric, trainer_state=object(), **columns)


class Groups(WithFolder):
    # Promise: batch= gives a function that takes lists the members of a group, or as many completions as it says, as merit eval --batch does.
    def test_batch(self):
        path = self.script(LISTS)
        answers = ["aaa", "a", "aa", "aaaa"]
        alone, group, pairs = (Reward(path + ":rank", batch=b, group_size=4) for b in (None, "group", 2))
        self.assertEqual([r(completions=answers) for r in (alone, group, pairs)], [[0.0] * 4, [2.0, 0.0, 1.0, 3.0], [1.0, 0.0, 0.0, 1.0]])
        self.assertEqual([r.compares for r in (alone, group, pairs)], [False, True, True])
        self.assertEqual(len({r.manifest()["reward"]["digest"] for r in (alone, group, pairs)}), 3)
        rows = [{"prompt": "q", "completion": a, "group": g} for a, g in zip(answers, "aabb")]
        self.assertEqual([r.score for r in group.evaluate(rows)], [1.0, 0.0, 0.0, 1.0])
        self.assertEqual([r.score for r in Reward(path + ":rank", batch=3).evaluate(rows)], [2.0, 0.0, 1.0, 0.0])
        for batch in (0, "groups", True, 2.0):
            with self.assertRaisesRegex(InvalidInput, 'is not a whole number above 0 or "group"'):
                Reward(path, batch=batch)
        with self.assertRaisesRegex(MeritError, "only what takes lists gets several"):
            Reward(path + ":one", batch=2)(completions=answers)
        with self.assertRaisesRegex(MeritError, "from 1 to 1024"):
            Reward(path + ":rank", batch=1025)(completions=answers)

    # Promise: a parameter without a default that no column fills ends the first call, with the nearest column.
    def test_what_nothing_fills(self):
        path = self.script(LISTS)
        with self.assertRaisesRegex(InvalidInput, "(?s)needs: .*parameter solutoin without a default.*did you mean solution"):
            Reward(path + ":needs")(completions=["4"], solution=["4"])
        self.assertEqual(Reward(path + ":needs")(completions=["4"], solutoin=["4"]), [1.0])
        self.assertEqual(Reward(path + ":scored")(completions=["4"], ground_truth=["4"]), [1.0])
        with self.assertRaisesRegex(InvalidInput, "(?s)parameter solutoin without a default.*there are no columns"):
            Reward(path + ":needs")(completions=["4"])
        self.assertEqual(Reward(path + ":scored")(completions=["4"]), [1.0])  # verifiers' answer is "" where a row has none

    # Promise: a group is what the trainer says, by position, not what has one prompt: in training and in evaluation.
    def test_of_the_trainer(self):
        reward, answers = Reward(self.script(BEST)), ["a", "bb", "c", "d", "ee", "f", "ggg", "h"]
        same = dict(prompts=["q"] * 8, completions=answers, ground_truth=["1"] * 8, group=["x"] * 8)
        self.assertEqual(Trainer(reward).call(reward, **same), [0, 1, 0, 0, 0, 0, 1, 0])
        self.assertEqual(Trainer(reward, training=False).call(reward, **same), [0, 1, 1, 1, 1, 0, 1, 0])
        other = dict(prompts=list("pqrstuvw"), completions=answers)
        self.assertEqual(Trainer(reward).call(reward, **other), [0, 1, 0, 0, 0, 0, 1, 0])
        self.assertEqual(Reward(self.script(BEST), group_size=4)(**other), [0, 1, 0, 0, 0, 0, 1, 0])

    # Promise: where nobody says which completions are one group, a trainer is refused with what to set; parts of a
    # group are refused too.
    def test_refused(self):
        reward, same = Reward(self.script(BEST)), dict(prompts=["q"] * 6, completions=["a"] * 6)
        with self.assertRaisesRegex(InvalidInput, r"does not say which completions are one group\n.*group_size=N"):
            reward(trainer_state=object(), **same)
        with self.assertRaisesRegex(InvalidInput, "6 completions are not whole groups of 4"):
            Trainer(reward).call(reward, **same)
        self.assertEqual(reward(trainer_state=object(), group=[1] * 6, **same), [1.0] * 6)
        with self.assertRaisesRegex(InvalidInput, "group_size: 0 is not a whole number above 0"):
            Reward(ANSWER, group_size=0)

    # Promise: who calls a reward without a trainer has the members of a group compared, in whatever order rows come;
    # equal prompts with different ground truths are not one group; and the log says that groups were guessed.
    def test_by_question(self):
        reward = Reward(self.script(BEST))
        with self.assertLogs("merit_rl", "WARNING") as logs:
            got = reward(prompts=["p", "q", "p", "q", "p"], completions=["a", "bb", "aa", "b", "aaa"])
            truths = reward(prompts=["p"] * 4, completions=["a", "bb", "ccc", "dd"], ground_truth=["1", "1", "2", "2"])
        self.assertEqual((got, truths), ([0.0, 1.0, 0.0, 0.0, 1.0], [0.0, 1.0, 1.0, 0.0]))
        self.assertEqual(len(logs.output), 1)
        self.assertIn("completions with the same prompt and ground truth are taken for one", logs.output[0])
        self.assertEqual(reward(completions=["a", "b"], group=[1, 2]), [1.0, 1.0])


def halves(completions, **_):
    return [0.5] * len(completions)


def short(completions, **_):
    return [None if len(c) > 3 else float("nan") if len(c) > 2 else 1.0 for c in completions]


class Several(WithFolder):
    # Promise: of several rewards a completion has the weighted sum, or, where one fails, no score; each shows by name.
    def test_sum(self):
        rewards = Rewards({"length": self.script(MIXED) + ":score", "half": halves, "short": short}, [1, 2, 0.25])
        trainer, extra = Trainer(rewards), {}
        with self.assertLogs("merit_rl", "WARNING") as logs:
            got = rewards(
                prompts=["q"] * 5,
                completions=["", "ab", "abc", "raise", "a"],
                log_metric=trainer.log_metric,
                log_extra=lambda name, values: extra.update({name: values}),
            )
        self.assertEqual(got, [1.25, 3.25, None, None, 2.25])
        self.assertEqual(extra["length"], [0, 2, 3, None, 1])
        self.assertEqual(extra["short"], [1, 1, None, None, 1])
        means = {name: trainer.said[f"rewards/{name}/mean"] for name in ("length", "half", "short")}
        self.assertEqual(means, {"length": 1.5, "half": 0.5, "short": 1.0})
        self.assertEqual((trainer.said["rewards/half/std"], trainer.said["merit/total/unscored"]), (0, 2))
        self.assertEqual(trainer.said["merit/score/unscored"], 1, "a reward goes on to say what it says")
        self.assertIn("total: 2 of 5 completions have no score from short", "".join(logs.output))
        self.assertNotIn("counts a missing score as 0", "".join(logs.output))
        again = pickle.loads(pickle.dumps(rewards))
        self.assertEqual(again(prompts=["q"], completions=["ab"]), [3.25])

    # Promise: asynchronous rewards are awaited beside each other, and waited for where nothing awaits.
    def test_asynchronous(self):
        async def later(completions, **_):
            await asyncio.sleep(0)
            return [None if c == "" else 1.0 for c in completions]

        rewards = Rewards([later, Reward(self.script(MIXED) + ":score"), halves])
        self.assertTrue(inspect.iscoroutinefunction(rewards.aio.__call__))
        call = dict(prompts=["q"] * 2, completions=["", "ab"])
        self.assertEqual(rewards(**call), [None, 3.5])
        self.assertEqual(asyncio.run(rewards.aio(**call)), [None, 3.5])

        async def within():
            return rewards(**call)

        self.assertEqual(asyncio.run(within()), [None, 3.5])

    # Promise: what cannot be added is refused when it is given, or named when it is returned.
    def test_refused(self):
        for wrong, weights, what in (
            ([halves, halves], None, "halves: two rewards have this name"),
            ([halves], [1, 2], "there are 2 weights for 1 rewards"),
            ({"a": halves}, {"b": 1}, "weights are given for b, and the rewards are a"),
            ([halves], [float("nan")], "halves: the weight is nan"),
            ({"total": halves}, None, "total: a reward has the name of the sum"),
            ([], None, "not a list of rewards"),
            ([3], None, "3 is not a reward function"),
        ):
            with self.assertRaisesRegex(InvalidInput, what):
                Rewards(wrong, weights)
        with self.assertRaisesRegex(InvalidInput, "halves: it returned 1 scores for 2 completions"):
            Rewards({"halves": lambda **_: [1.0]})(completions=["a", "b"])
        with self.assertLogs("merit_rl", "WARNING") as logs:
            large = Rewards({"large": lambda **_: [3e38]}, [2.0])
            self.assertEqual(large(completions=["a"]), [None])
        self.assertIn("1 of 1 completions have a weighted sum that float32 cannot hold", logs.output[0])

    # Promise: a reward that a trainer adds to others says once that the trainer counts its failures as 0, and what to do.
    def test_beside_others(self):
        for reward in (Reward(ANSWER), Rewards([Reward(ANSWER)]), Reward(ANSWER).aio):
            trainer, call = Trainer(reward, halves), dict(completions=["A: 4"], ground_truth=["4"])
            with self.assertLogs("merit_rl", "WARNING") as logs:
                for _ in range(2):
                    got = trainer.call(reward, **call)
                    asyncio.run(got) if inspect.isawaitable(got) else None
            self.assertEqual(len(logs.output), 1)
            self.assertRegex(logs.output[0], r"adds its scores to those of halves, and counts a missing score as 0.*Rewards")
        alone = Reward(ANSWER)
        with self.assertNoLogs("merit_rl", "WARNING"):
            Trainer(alone).call(alone, **call)


class Warnings(WithFolder):
    # Promise: what is doubtful about scores that did not fail is in the log, once for each reward: a parameter that nothing
    # fills with the nearest column, a reward that compares rows that are alone, scores that are one number.
    def test_doubts(self):
        path = self.script("""
def answer_reward(completions, ground_truht=None, **kwargs):
    return [float(c == g) for c, g in zip(completions, ground_truht or [])] or [0.0] * len(completions)
""")
        reward, call = Reward(path, name="r"), dict(completions=["a"] * 32, ground_truth=["a"] * 32)
        with self.assertLogs("merit_rl", "WARNING") as logs:
            for _ in range(3):
                reward(**call)
        self.assertEqual(len(logs.output), 2, logs.output)
        self.assertRegex(logs.output[0], "r: answer_reward has a parameter ground_truht, .*; did you mean ground_truth?")
        self.assertRegex(logs.output[1], "r: all of its first 64 scores are 0; ")
        with self.assertLogs("merit_rl", "WARNING") as logs:
            best = Reward(self.script(BEST, "best.py"))
            best.evaluate([{"messages": [{"role": "assistant", "content": "a"}], "group": g} for g in "abc"])
        self.assertRegex(logs.output[0], "compares the members of a group, but each of 3 rows is alone")


class Uploads(WithFolder):
    # Promise: one file gives several rewards, by function and by parameters.
    def test_functions_and_parameters(self):
        path = self.script(MIXED)
        other = Reward(path + ":other", parameters={"bonus": 7})
        self.assertEqual(other(completions=["x"]), [107.0])
        self.assertEqual(Reward(path + ":other")(completions=["x"]), [100.0])
        self.assertEqual(Reward(path + ":score")(completions=["xy"]), [2.0])
        for wrong, what in (({"parameters": {"x": {1, 2}}}, "not JSON"), ({"fuel": 0}, "fuel: 0 is not a whole number")):
            with self.assertRaisesRegex(InvalidInput, what):
                Reward(path, **wrong)

    # Promise: what one Reward says of a file, its function and its parameters, is nothing to another of the same file.
    def test_defaults(self):
        path = self.script("def score(messages, bonus=0, **kwargs):\n    return 1 + bonus\n")
        first, plain = Reward(path, parameters={"bonus": 7}), Reward(path)
        self.assertEqual((first(completions=["x"]), plain(completions=["x"])), ([8.0], [1.0]))
        self.assertEqual((first.manifest().get("with"), plain.manifest().get("with")), ({"bonus": 7}, None))
        two = self.script(MIXED)
        self.assertEqual(Reward(two + ":other").manifest()["function"], "other")
        self.assertEqual(Reward(two + ":score").manifest()["function"], "score")
        self.assertEqual(Reward(two)(completions=["xy"]), [2.0])

    # Promise: of several rewards without the usual names none is guessed: the error lists them.
    def test_several(self):
        path = self.script("def long(completions, **k):\n    return [1.0]\n\ndef short(completions, **k):\n    return [0.0]\n")
        with self.assertRaisesRegex(InvalidInput, r"several rewards; choose one, .*\n *reward.py:long .*\n *reward.py:short"):
            Reward(path)(completions=["x"])
        self.assertEqual(Reward(path + ":short")(completions=["x"]), [0.0])
        with self.assertRaisesRegex(InvalidInput, "several rewards; choose one"):
            Reward(path)(completions=["x"])

    # Promise: what is wrong with a reward shows with its reason, at the latest when it is used.
    def test_broken(self):
        with self.assertRaisesRegex(MeritError, "SyntaxError") as e:
            Reward(self.script("def score(:")).manifest()
        self.assertEqual(e.exception.status, 422)
        with self.assertRaisesRegex(NotFound, "no-such"):
            Reward("no-such@stable")(completions=["x"])

    # Promise: the digest that this side computes is the server's.
    def test_digest(self):
        folder = os.path.join(self.folder, "é")
        os.makedirs(os.path.join(folder, "lib"))
        for name, text in (("reward.py", "def score(messages, **kwargs):\n    return 1"), ("lib/ü.txt", "x")):
            with open(os.path.join(folder, name), "w") as f:
                f.write(text)
        for path in (ANSWER, folder):
            reward = Reward(path)
            self.assertEqual(reward.manifest()["digest"], reward._source.reference)


class Trajectories(WithFolder):
    # Promise: whole trajectories in, typed results out, step rewards and all.
    def test_results(self):
        reward = Reward(self.script("""
def score(messages, **kwargs):
    n = sum(m.role == "assistant" for m in messages)
    steps = [{"step_index": i, "base_reward": i / 2} for i in range(n)]
    return {"score": n, "reason": "counted", "step_outputs": steps}
"""))  # fmt: skip
        turn = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]
        one, two = reward.evaluate([{"id": "x", "messages": turn * 2}, turn])
        self.assertEqual(
            (one.id, one.outcome, one.score, one.scored, one.reason), ("x", "scored", 2.0, True, "counted")
        )
        self.assertEqual([(s["step_index"], s["base_reward"]) for s in one.step_outputs], [(0, 0), (1, 0.5)])
        self.assertEqual((two.id, two.score, two.metrics, two.notes), ("line-2", 1.0, {}, {}))
        self.assertGreater(one.fuel, 0)
        self.assertEqual(reward.evaluate([{"id": "x", "messages": turn * 2}]), [one], "the same again, fuel and all")
        self.assertEqual(asyncio.run(reward.aevaluate([turn])), reward.evaluate([turn]))
        self.assertEqual(pickle.loads(pickle.dumps(one)), one)
        with self.assertRaisesRegex(InvalidInput, "trajectory 2: messages is empty"):
            reward.evaluate([turn, {"messages": []}])

    # Promise: memory is bounded, however many trajectories there are: here 200 MB pass through.
    def test_bounded(self):
        reward, n = Reward(ANSWER), 4000
        reward.manifest()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        rows = (
            {"messages": [{"role": "assistant", "content": f"{'x' * 50_000}\nA: 4"}], "ground_truth": "4"}
            for _ in range(n)
        )
        self.assertEqual(sum(r.score for r in reward.stream(rows)), n)
        self.assertLess(
            resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, 100 << 10, "KiB, a window of the server's"
        )


class Credit(unittest.TestCase):
    ROWS = [
        {"group": "g", "trajectory": t, "step": s, "observation": f"o{s}", "reward": r, "episode_score": score}
        for t, s, r, score in ((0, 0, 0, 1), (0, 1, 1, 1), (1, 0, 0, 0), (1, 1, 0, 0), (2, 0, None, None))
    ]

    # Promise: rows come back with their credit; a step without a score has none.
    def test_rows(self):
        got = advantages(self.ROWS, estimator="gigpo", gamma=1.0)
        self.assertEqual([r["episode_advantage"] for r in got], [0.5, 0.5, -0.5, -0.5, 0])
        self.assertEqual([r["anchor_group"] for r in got][-1], -1)
        self.assertEqual([r["observation"] for r in got], [r["observation"] for r in self.ROWS])
        with self.assertRaisesRegex(MeritError, "gama"):
            advantages(self.ROWS, gama=1)
        with self.assertRaisesRegex(InvalidInput, "give rows or columns"):
            advantages()

    # Promise: adapters send what estimators of several rewards, of roles and of greedy episodes read.
    def test_steps_of_trainers(self):
        steps = Steps()
        for score, brief in ((1.0, 0.0), (0.0, 1.0), (None, None)):
            parts = None if score is None else {"right": score, "brief": {"score": brief, "weight": 0.5}}
            steps.add(
                "g", [1, 0, 1], score, anchors=["a", "b"], parts=parts, roles=["buyer", "seller"], greedy_score=0.25
            )
        credit = lambda estimator: steps.credit({"estimator": estimator}, "advantage")[0]  # noqa: E731
        half = 0.5**0.5  # z over the deviation of two episodes, z up and z down
        for estimator, want in (
            ("gdpo", [half, half, -half, -half, 0, 0]),
            ("rae", [0, 1, 0, -1, 0, 0]),
            ("remax", [0.75, 0.75, -0.25, -0.25, 0, 0]),
        ):
            for got, number in zip(credit(estimator), want):
                self.assertAlmostEqual(got, number, places=4, msg=estimator)
        with self.assertRaisesRegex(ValueError, "has 2 steps and 1 roles"):
            steps.add("g", [1, 0, 1], 1.0, anchors=["a", "b"], roles=["buyer"])

    # Promise: columns give the numbers that rows give; arrays come back as arrays, with NaN for none.
    def test_columns(self):
        rows = advantages(self.ROWS)
        columns = {name: [r[name] for r in self.ROWS] for name in self.ROWS[0]}
        got = advantages(columns=columns)
        names = {"return", "episode_advantage", "step_advantage", "advantage", "anchor_group"}
        self.assertEqual(got, {name: [r[name] for r in rows] for name in names})
        try:
            import numpy
        except ImportError:
            return
        columns["reward"] = numpy.array([0, 1, 0, 0, numpy.nan])
        columns["episode_score"] = numpy.array([1, 1, 0, 0, numpy.nan])
        arrays = advantages(columns=columns)
        self.assertEqual({a.dtype.kind + str(a.shape) for a in arrays.values()}, {"f(5,)", "i(5,)"})
        numpy.testing.assert_array_equal(arrays["advantage"], got["advantage"])
        self.assertTrue(numpy.isnan(arrays["return"][4]))


if __name__ == "__main__":
    logging.basicConfig()
    unittest.main()
