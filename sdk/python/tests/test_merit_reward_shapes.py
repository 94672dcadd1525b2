"""Which function is the reward, and how each shape is called and read, natively."""

import sys
import types
import unittest

from merit_reward import runner, shims

TRUE = "return [1.0 for _ in completions]"

# what the file has, and the function that is chosen; a list where several are meant
CHOICES = {
    "a helper called score, of another shape": (
        """
def score(completion, answer): return float(answer in completion)
def answer_reward(completions, answer, **kw): return [score(c[0]["content"], a) for c, a in zip(completions, answer)]
""",
        "answer_reward",
    ),
    "a helper called reward, without a shape": (f"def reward(text, truth): return 0\ndef answer_reward(completions, answer): {TRUE}", "answer_reward"),
    "a helper behind a lambda": (
        "def score(completion, answer): return 1\ndef checked(completions, **kw): return list(map(lambda c: score(c, 1), completions))",
        "checked",
    ),
    "a helper that a method calls": (
        """
def reward(response, answer): return float(answer in response)
class Judge:
    def one(self, c, t): return reward(c, t)
    def __call__(self, completions, ground_truth, **kw): return [self.one(c[0].text, t) for c, t in zip(completions, ground_truth)]
""",
        "Judge",
    ),
    "the sum of others": (
        f"""
def a_reward(completions, **kw): {TRUE}
def b_reward(completions, **kw): {TRUE}
def total(completions, **kw): return [x + y for x, y in zip(a_reward(completions), b_reward(completions))]
""",
        "total",
    ),
    "two equals": (f"def a_reward(completions, **kw): {TRUE}\ndef b_reward(completions, **kw): {TRUE}", ["a_reward  (TRL)", "b_reward  (TRL)"]),
    "equals, one with a usual name": (f"def a_reward(completions, **kw): {TRUE}\ndef reward(completions, **kw): {TRUE}", "reward"),
    "usual names only": ("def reward(messages): return 1\ndef score(messages): return 1", ["reward  (Merit)", "score  (Merit)"]),
    "verl's helper": (
        "def extract_solution(solution_str, method='strict'): return 1\ndef compute_score(solution_str, ground_truth, method='strict'): return 1",
        "compute_score",
    ),
    "a mark": ("from merit_reward import reward_function\ndef reward(messages): return 0\n@reward_function\ndef mine(messages): return 1", "mine"),
    "a class": ("class Judge:\n  def __call__(self, completions, **kw): return [1.0]", "Judge"),
    "a class that another extends": (
        "class Base:\n  def __call__(self, completions, **kw): raise NotImplementedError\nclass Judge(Base):\n  def __call__(self, completions, **kw): return [1.0]",
        "Judge",
    ),
    "an object rather than its class": (
        "class Judge:\n  def __init__(self, w): self.w = w\n  async def __call__(self, completions, **kw): return [self.w]\njudge = Judge(1.0)",
        "judge",
    ),
    "a method": ("class Judge:\n  def score(self, completions, **kw): return [1.0]\nrun = Judge().score", "run"),
    "a partial rather than its function": (
        "import functools\ndef scaled(completions, scale, **_): return [scale]\nhalf = functools.partial(scaled, scale=1.0)",
        "half",
    ),
    "a registry": (
        """
from swift.plugin import ORM, orms
class Other(ORM):
    def __call__(self, completions, **kwargs): return [0.0]
class Accuracy(ORM):
    def __call__(self, completions, solution, **kwargs): return [float(s in c) for c, s in zip(completions, solution)]
orms["accuracy"] = Accuracy
""",
        "Accuracy",
    ),
}

# a reward that finds the truth in the answer, in each shape, and what it says of a right answer
SHAPES = {
    "TRL": "def f(prompts, completions, ground_truth, **kw): return [float(t in c[-1]['content']) for c, t in zip(completions, ground_truth)]",
    "verl": "def compute_score(data_source, solution_str, ground_truth, extra_info=None): return float(ground_truth in solution_str)",
    "verl, of a batch": "def f(data_sources, solution_strs, ground_truths, extra_infos): return [t in s for t, s in zip(ground_truths, solution_strs)]",
    "an answer and a truth": "def compute_score(model_output, ground_truth): return (ground_truth in model_output, True, 'extracted')",
    "EasyR1": "def compute_score(reward_input): return {'overall': float(reward_input['ground_truth'] in reward_input['response']), 'format': 1}",
    "EasyR1, of a batch": "def compute_score(reward_inputs, w=0.1): return [{'overall': float(r['ground_truth'] in r['response'])} for r in reward_inputs]",
    "EasyR1, of a batch (lists)": "def compute_score(predicts, ground_truths): return [{'overall': t in p} for p, t in zip(predicts, ground_truths)]",
    "OpenRLHF": "def reward_func(queries, prompts, labels): return {'rewards': [float(t in q[len(p):]) for q, p, t in zip(queries, prompts, labels)]}",
    "verifiers": "async def f(parser, completion, answer, state, **kw): return answer in parser.parse_answer(completion) and state['turn'] == 1",
    "verifiers, of a group": "def f(completions, states): return [float(s['answer'] in c[0]['content']) for c, s in zip(completions, states)]",
    "OpenAI's grader": "def grade(sample, item) -> float: return float(item['ground_truth'] in sample['output_text'])",
    "slime": "async def custom_rm(args, sample, **kw): return {'score': float(sample.label in sample.response)}",
    "slime, of a batch": "async def custom_rm(args, samples, **kw): return [float(s.label in s.response) for s in samples]",
    "AReaL": "def f(prompt, completions, prompt_ids, completion_ids, answer, **kw): return int(answer in completions)",
    "trlX": "def reward_fn(samples, prompts, outputs, **kw): return [float('4' in o) for o in outputs]",
    "rLLM": "from rllm.rewards.reward_types import RewardOutput\ndef f(task_info, action): return RewardOutput(reward=float(task_info['ground_truth'] in action))",
    "open-instruct": "class V:\n  def __call__(self, tokenized_prediction, prediction, label, query=None): return float(label in prediction)",
    "Merit": "def f(messages, ground_truth): return ground_truth in messages[-1].content",
}


def module(source):
    shims.install()
    m = types.ModuleType("reward")
    m.__file__ = "/reward/reward.py"
    if peers := sys.modules.get("merit_reward.peers"):
        peers.orms.clear()
    exec(compile(source, "reward.py", "exec"), m.__dict__)
    return m


def row(said="It is 4", **columns):
    messages = [{"role": "user", "content": "2 + 2?"}, {"role": "assistant", "content": said}]
    return runner.rollout({"id": "r", "messages": messages, "ground_truth": "4", "metadata": {"solution": "4", "answer": "4", **columns}})


class Choices(unittest.TestCase):
    """Promise: the reward of a file is what is marked, then what has a reward's shape, by name last; several are listed with what to write."""

    def test_choices(self):
        for name, (source, want) in CHOICES.items():
            with self.subTest(name):
                if isinstance(want, str):
                    reward = runner.find(module(source))
                    self.assertEqual((reward.name, reward.results([row()])), (want, [2.0 if want == "total" else 1.0]))
                    continue
                with self.assertRaises(LookupError) as caught:
                    runner.find(module(source))
                for line in want:
                    self.assertIn(f"\n  reward.py:{line}", str(caught.exception))

    def test_what_was_named(self):
        m = module(CHOICES["a registry"][0] + "\nclass Needs:\n  def __init__(self, config): pass\n  def __call__(self, completions): return [1.0]")
        self.assertEqual(runner.find(m, "Other").results([row()]), [0.0])
        self.assertEqual(runner.find(m, "accuracy").results([row()]), [1.0])
        with self.assertRaisesRegex(LookupError, r"the class Needs needs config: make an object of it in the module, as in reward = Needs\(…\)"):
            runner.find(m, "Needs")


class Shapes(unittest.TestCase):
    """Promise: a function in each shape is recognised, called and read as its own trainer does it."""

    def test_shapes(self):
        for shape, source in SHAPES.items():
            with self.subTest(shape):
                reward = runner.find(module(source))
                self.assertEqual(reward.shape_name, shape)
                for said, want in (("It is 4", 1.0), ("It is 5", 0.0)):
                    result = runner.plain(reward.results([row(said)])[0])
                    self.assertEqual(float(result["score"] if isinstance(result, dict) else result), want)

    def test_verifiers_fills_any_of_its_names(self):
        for source in (
            "def f(state): return 1.0 if state['answer'] in state['completion'][-1]['content'] and len(state['trajectory']) == 1 else 0.0",
            "async def f(state, **kwargs): return float(kwargs['answer'] in kwargs['completion'][-1]['content'])",
            "def f(info, answer): return float(info == {'hops': 2} and answer == '4')",
            "def f(prompt, answer): return float(len(prompt) == 1 and answer == '4')",
            "def f(parser): return float(parser.parse('4') == '4')",
            "def reward(answer): return float(answer == '4')",
            "def score(task): return float(task == 'default')",
            "def score(info, scale=1.0): return scale * (info['hops'] == 2)",
        ):
            with self.subTest(source):
                reward = runner.find(module(source))
                self.assertEqual((reward.shape_name, reward.results([row(info='{"hops": 2}')])), ("verifiers", [1.0]))

    def test_a_column_called_state_wins_where_the_state_is_all(self):
        reward = runner.find(module("def reward(state): return float(state)"))
        self.assertEqual(reward.results([row(state=0.5)]), [0.5])

    def test_what_only_an_environment_of_verifiers_knows(self):
        with self.assertRaisesRegex(OSError, r"reads state\['timing'\], which only verifiers' own environment has"):
            runner.find(module("def f(completion, state): return state['timing']['total_ms']")).results([row()])

    def test_a_helper_of_one_name_is_no_reward(self):
        source = "def normalize(answer): return answer\ndef check(prompt): return 0\ndef my_reward(completions, answer, **kw): return [1.0]"
        self.assertEqual(runner.find(module(source)).name, "my_reward")
        with self.assertRaisesRegex(LookupError, "the module has no reward"):
            runner.find(module("def normalize(answer): return answer"))

    def test_ms_swift_gives_what_it_knows_of_a_rollout(self):
        head = "from swift.rewards import ORM, orms\nclass R(ORM):\n"
        for body in (
            "  def __call__(self, completions, **kwargs):\n    return [float(m[-1]['content'] == c and s == '4') for m, c, s in zip(kwargs['messages'], completions, kwargs['solution'])]",
            "  def __call__(self, completions, messages, is_truncated, **kwargs):\n    return [float(len(m) == 2 and t) for m, t in zip(messages, is_truncated)]",
            "  def __call__(self, completions, finish_reason, request_id): return [float(finish_reason + request_id == ['length', 'r'])]",
        ):
            for tail in ("\norms['r'] = R", "\nreward = R()"):
                reward = runner.find(module(head + body + tail))
                said = row()
                said["stop_reason"] = "length"
                self.assertEqual((reward.shape_name, reward.results([said])), ("ms-swift", [1.0]))
        late = runner.find(module(head + "  def __call__(self, completions, **kwargs): return [kwargs['trainer_state'].global_step]"))
        with self.assertRaisesRegex(OSError, "trainer_state, which only a trainer has"):
            late.results([row()])
        with self.assertRaisesRegex(LookupError, "needs trainer_state"):
            runner.find(module(head + "  def __call__(self, completions, trainer_state): return [1.0]"))

    def test_rubric(self):
        source = """
import verifiers as vf
parser = vf.ThinkParser(extract_fn=vf.extract_boxed_answer)
async def correct(parser, completion, answer): return 1.0 if parser.parse_answer(completion) == answer else 0.0
def short(completion): return len(completion[-1]["content"]) < 100
rubric = vf.Rubric(funcs=[correct], weights=[1.0], parser=parser)
rubric.add_reward_func(short, weight=0.25)
"""
        reward = runner.find(module(source))
        self.assertEqual(reward.results([row(r"<think>hm</think> \boxed{4}")]), [{"score": 1.25, "metrics": {"correct": 1.0, "short": 1.0}}])
        self.assertEqual(reward.results([row(r"\boxed{4}")]), [{"score": 0.25, "metrics": {"correct": 0.0, "short": 1.0}}])

    def test_metrics_of_trl_are_each_members_own(self):
        source = """
def f(completions, log_metric, log_extra, **kw):
    n = [len(c[0]["content"]) for c in completions]
    log_extra("length", n)
    log_extra("said", [c[0]["content"] for c in completions])
    for x in n: log_metric("mean", x)
    return [1.0 for _ in n]
"""
        first, second = runner.find(module(source), batch="group").results([row("a"), row("abc")])
        self.assertEqual([first["metrics"], second["metrics"]], [{"length": 1, "mean": 2.0}, {"length": 3, "mean": 2.0}])
        self.assertEqual(runner.find(module(source)).results([row("ab")])[0]["metrics"], {"length": 2, "mean": 2.0})

    def test_tokens_are_a_trainers_own(self):
        for source in (
            "def f(prompt, completions, prompt_ids, completion_ids, **kw): return len(completion_ids)",
            "def compute_score(reward_input): return reward_input['response_length']",
            "async def custom_rm(args, sample, **kw): return sample.response_length",
        ):
            with self.assertRaisesRegex(OSError, "only a trainer has"):
                runner.find(module(source)).results([row()])

    def test_a_batch(self):
        f = "def f(completions, **kw): return [float(len(completions))] * len(completions)"
        self.assertEqual(runner.find(module(f)).group, False)
        for said, batch in (("", "group"), ("__merit__ = {'batch': 'group'}\n", None)):
            reward = runner.find(module(said + f), batch=batch)
            self.assertEqual((reward.group, reward.batch, reward.results([row(), row()])), (True, 0, [2.0, 2.0]))
        self.assertEqual(runner.find(module("__merit__ = {'batch': 2}\n" + f)).batch, 2)
        with self.assertRaisesRegex(LookupError, "only what takes lists"):
            runner.find(module("__merit__ = {'batch': 2}\ndef f(solution_str, ground_truth): return 1"))
        with self.assertRaisesRegex(ValueError, "batch is 0"):
            runner.find(module("__merit__ = {'batch': 0}\n" + f))


HALF = """
from collections import namedtuple
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
class Scalar:
    def __init__(self, value): self.value = value
    def item(self): return self.value
class Floating:
    def __float__(self): return 0.5
@dataclass
class Made:
    score: object
    reason: str = "half"
@dataclass(slots=True)
class Slim:
    score: object
Named = namedtuple("Named", "reason score")
"""
# how a reward may say a half, and what else the result has
HALVES = {
    "Fraction(1, 2)": {},
    "Decimal('0.5')": {},
    "Scalar(0.5)": {},
    "Floating()": {},
    "Made(Fraction(1, 2))": {"reason": "half"},
    "Slim(0.5)": {},
    "Named('half', Decimal('0.5'))": {"reason": "half"},
    "{'score': Scalar(0.5)}": {},
    "{'score': Fraction(1, 2), 'metrics': {'m': Decimal('0.25'), 'n': Made(Scalar(1.0), reason='r')}}": {
        "metrics": {"m": 0.25, "n": {"score": 1.0, "reason": "r"}}
    },
}
WRONG = {
    "'0.5'": "str '0.5'",
    "1j": "complex '1j'",
    "None": "NoneType 'None'",
    "object": "type",
    "Named": "type",
    "{'score': object()}": "the score is object .*; return a number",
    "{'score': 1, 'metrics': {'m': 'high'}}": "the metric 'm' is str 'high'; return a number",
}


class Results(unittest.TestCase):
    """Promise: what Python's float() takes is a score, records are read by their fields, and all else is an error that says what to return."""

    def test_numbers_and_records(self):
        for value, more in HALVES.items():
            for function in ("def f(messages): return ", "def f(solution_str, ground_truth): return "):
                with self.subTest(function + value):
                    result = runner.find(module(HALF + function + value)).results([row()])[0]
                    result = dict(result) if isinstance(result, dict) else {"score": result}
                    self.assertEqual(result, {"score": 0.5, **more} if "metrics" in more or "reason" in more else {"score": 0.5})
                    self.assertIs(type(result["score"]), float)
        for value in ("Fraction(1, 2)", "Decimal('0.5')", "Scalar(0.5)"):
            lists = runner.find(module(HALF + f"def f(completions, log_metric, **kw):\n  log_metric('m', 1)\n  return [{value}]"))
            self.assertEqual(lists.results([row()]), [{"score": 0.5, "metrics": {"m": 1.0}}])
        self.assertIs(runner.find(module("def f(messages): return True")).results([row()])[0], True)

    def test_what_is_no_score(self):
        for value, says in WRONG.items():
            with self.subTest(value), self.assertRaisesRegex(TypeError, says):
                runner.find(module(HALF + "def f(messages): return " + value)).results([row()])
        with self.assertRaisesRegex(TypeError, "returned Fraction '1/2'; with completions it returns a list"):
            runner.find(module(HALF + "def f(completions): return Fraction(1, 2)")).results([row()])


class Asks(unittest.TestCase):
    """Promise: it is known before a call which parameters only the data can fill."""

    def test_asks(self):
        for source, want in (
            ("def f(messages, ground_truht=None, **kw): return 1", {"ground_truht": 1}),
            ("def f(completions, level, tolerance=0.1, log_metric=None, trainer_state=None): return [1]", {"level": 2, "tolerance": 0}),
            ("def f(solution_str, ground_truth, extra_info=None, format_score=0.0): return 1", {"format_score": 0}),
            ("def f(completion, answer, info, parser): return 1", {"answer": 5}),
            ("def f(queries, prompts, labels): return [1]", {}),
            ("def f(messages, *, only=None, words=60, level, ground_truht=''): return 1", {"only": 8, "words": 0, "level": 2, "ground_truht": 8}),
            ("def f(*, completions, solution=None, **kw): return [1]", {"solution": 1}),
            ("def f(completion, *, answer=None, info=None): return 1", {"answer": 5}),
        ):
            self.assertEqual(runner.find(module(source)).asks, want)


if __name__ == "__main__":
    unittest.main()
