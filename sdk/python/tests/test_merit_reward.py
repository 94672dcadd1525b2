"""Unit tests of merit_reward that need nothing but Python: python3 -m unittest."""

import argparse
import asyncio
import dis
import sys
import types
import unittest

import merit_reward as mr
from merit_reward import choosing, runner, shims


def module(**names):
    m = types.ModuleType("reward_under_test")
    for name, f in names.items():
        f.__module__ = m.__name__
        setattr(m, name, f)
    return m


def rollout(**fields):
    return runner.rollout({"id": "r", "messages": [{"role": "user", "content": "Hi"}], **fields})


class Records(unittest.TestCase):
    def test_message_is_a_dict_with_attributes(self):
        m = mr.Message(role="assistant", content="x")
        self.assertEqual((m.role, m["role"], m.get("name"), m.name), ("assistant", "assistant", None, None))
        self.assertIsInstance(m, dict)
        with self.assertRaises(KeyError):
            m["name"]
        with self.assertRaises(AttributeError):
            m.nonsense

    def test_tool_calls_are_records(self):
        m = mr.Message.model_validate(
            {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": "{}"}}]}
        )
        self.assertEqual((m.tool_calls[0].function.name, m["tool_calls"][0]["id"]), ("f", "1"))

    def test_text_joins_parts(self):
        parts = [{"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": "b"}]
        self.assertEqual([mr.Message(role="user", content=c).text for c in (None, "x", parts)], ["", "x", "ab"])

    def test_results_have_defaults_items_and_equality(self):
        r = mr.EvaluateResult(score=1.0)
        self.assertEqual((r.score, r["is_score_valid"], r.reason, r.metrics), (1.0, True, None, {}))
        r.metrics["m"] = mr.MetricResult(score=2)
        self.assertEqual(r, mr.EvaluateResult(score=1.0, metrics={"m": mr.MetricResult(score=2)}))
        self.assertEqual(mr.EvaluateResult(score=0).metrics, {})


class Rewards(unittest.TestCase):
    def test_decorator_in_all_its_forms(self):
        for mark in (mr.reward_function, mr.reward_function(), mr.reward_function(id="x", concurrency=2)):
            f = mark(lambda messages, **kwargs: 1)
            self.assertFalse(runner.find(module(any_name=f)).group)
        self.assertTrue(runner.find(module(f=mr.reward_function(mode="batch")(lambda rollouts_messages, **k: []))).group)
        with self.assertRaises(ValueError):
            mr.reward_function(mode="other")
        with self.assertRaises(ValueError):
            mr.reward_function(resources={"llms": [1]})

    def test_find_by_name_and_refuse_none_or_many(self):
        self.assertIsNotNone(runner.find(module(reward=lambda messages: 1)))
        with self.assertRaisesRegex(LookupError, "no reward"):
            runner.find(module(helper=lambda: 1))
        a, b = (mr.reward_function(f) for f in (lambda messages: 1, lambda messages: 2))
        with self.assertRaisesRegex(LookupError, "several"):
            runner.find(module(a=a, b=b))
        self.assertIs(runner.find(module(a=a, reward=b)).func, b)

    def test_arguments_are_those_that_are_taken(self):
        r = rollout(ground_truth="4", metadata={"level": 3, "messages": "no"})
        for f, want in (
            (lambda messages: len(messages), 1),
            (lambda messages, ground_truth: float(ground_truth), 4.0),
            (lambda level: level, 3),
            (lambda messages, **kwargs: kwargs["level"] + len(kwargs["metadata"]), 5),
            (lambda rollout: len(rollout.messages), 1),
        ):
            self.assertEqual(runner.Reward(f).results([r]), [want])

    def test_groups(self):
        f = mr.reward_function(mode="batch")(lambda rollouts_messages, **kwargs: [len(m) for m in rollouts_messages])
        self.assertEqual(runner.Reward(f).results([rollout(), rollout()]), [1, 1])
        with self.assertRaisesRegex(ValueError, "1 results for a group of 2"):
            runner.Reward(mr.reward_function(mode="batch")(lambda rollouts_messages: [1])).results([rollout(), rollout()])

    def test_async_rewards(self):
        async def reward(messages):
            return 0.5

        async def waits(messages):
            await asyncio.gather(asyncio.sleep(0), asyncio.sleep(0.001))
            return 0.25

        self.assertEqual(runner.Reward(reward).results([rollout()]), [0.5])
        self.assertEqual(runner.Reward(waits).results([rollout()]), [0.25])

    def test_warm_up(self):
        calls = []

        def reward(messages):
            return len(calls)

        async def ready():
            calls.append(await asyncio.sleep(0, "ready"))

        m = module(reward=reward, ready=mr.warm_up(ready))
        self.assertEqual(runner.prepare(m), {"warm_up": "own"})
        self.assertEqual(runner.find(m).results([rollout()]), [1])
        m.__merit__ = {"warm_up": "off"}
        with self.assertRaisesRegex(LookupError, "keep one of the two"):
            runner.prepare(m)
        del m.ready
        self.assertEqual(runner.prepare(m), {"warm_up": "off"})
        m.__merit__ = {"warm_up": "own"}
        with self.assertRaisesRegex(LookupError, "no function is marked"):
            runner.prepare(m)

    def test_plain(self):
        step = mr.StepOutput(step_index="1", base_reward=2, reason="r", metrics={"a": 1})
        full = mr.EvaluateResult(score=1, reason="w", metrics={"m": mr.MetricResult(score=2, reason="x")}, step_outputs=[step])
        want = {
            "score": 1,
            "reason": "w",
            "metrics": {"m": {"score": 2, "reason": "x"}},
            "step_outputs": [{"step_index": "1", "base_reward": 2, "reason": "r", "metrics": {"a": 1}}],
        }
        self.assertEqual(runner.plain(full), want)
        self.assertEqual(runner.plain(full.__dict__), want)
        self.assertEqual([runner.plain(v) for v in (1, 0.5, True)], [1, 0.5, True])
        for wrong in (None, "good", [1], {"reason": "x"}):
            with self.assertRaises(TypeError):
                runner.plain(wrong)

    def test_explain_cuts_long_tracebacks(self):
        def deep():
            return deep()

        try:
            deep()
        except RecursionError as e:
            text = runner.explain(e)
        self.assertIn("RecursionError", text)
        self.assertLess(len(text), 9000)


class Shapes(unittest.TestCase):
    def results(self, f, members, **given):
        reward = runner.find(module(f=f), "f", given or None)
        return reward.results(members) if reward.group else [x for m in members for x in reward.results([m])]

    def test_prompts_end_where_the_policy_began(self):
        said = [{"role": r, "content": c} for r, c in (("user", "a"), ("assistant", "b"), ("user", "c"), ("assistant", "d"))]

        def f(prompts, completions):
            return [len(prompts[0]) + 10 * len(completions[0])]

        whole = {"messages": said, "metadata": {"__prompt__": 0}}
        self.assertEqual(self.results(f, [rollout(**whole), rollout(**whole, steps=[{"message_count": 1}])]), [13, 31])

    def test_parameters_win_over_columns(self):
        def f(completions, level, **columns):
            return [level + sum(c[0] for c in columns.values() if isinstance(c, list) and isinstance(c[0], int))]

        rows = [rollout(metadata={"level": 5, "more": 100})]
        self.assertEqual(self.results(f, rows, level=7), [107])

    def test_groups_come_in_one_list_and_none_is_no_score(self):
        @mr.reward_function(mode="batch")
        def f(completions, ground_truth):
            return [None if t is None else t / len(completions) for t in ground_truth]

        first, second = self.results(f, [rollout(ground_truth=1), rollout()])
        self.assertEqual((first, second["is_score_valid"]), (0.5, False))

    def test_rows_of_verl(self):
        def f(data_source, solution_str, ground_truth, extra_info=None):
            return {"score": 1.0, "acc": True, "pred": f"{data_source} {ground_truth} {extra_info}"}

        row = rollout(metadata={"data_source": "d", "reward_model": {"ground_truth": "4"}, "extra_info": {"i": 1}})
        self.assertEqual(self.results(f, [row]), [{"score": 1.0, "metrics": {"acc": True}}])


class Globals(unittest.TestCase):
    """Promise: the globals that a function reads are those that dis lists, on every version of Python."""

    def test_as_dis(self):
        many = "def f():\n" + "".join(f"    name{i}\n" for i in range(600))  # more names than one byte counts
        codes = [compile(many, "many", "exec"), *(f.__code__ for m in (argparse, dis, types, choosing) for f in vars(m).values() if isinstance(f, types.FunctionType))]
        while codes:
            code = codes.pop()
            listed = [i.argval for i in dis.get_instructions(code) if i.opname in ("LOAD_GLOBAL", "LOAD_NAME")]
            self.assertEqual(listed, [*choosing._globals(code)], code)
            codes += [k for k in code.co_consts if hasattr(k, "co_consts")]


class Shims(unittest.TestCase):
    def test_other_names(self):
        shims.install()
        from eval_protocol.models import Message
        from reward_kit.typed_interface import reward_function

        self.assertIs(Message, mr.Message)
        self.assertIs(reward_function, mr.reward_function)
        self.assertIs(sys.modules["merit"], mr)


if __name__ == "__main__":
    unittest.main()
