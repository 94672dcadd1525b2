"""Unit tests of merit_reward.code that need nothing but Python.

Natively solutions run in processes; Go's tests run this file in the sandbox, where
they run in programs.
"""

import collections
import contextlib
import json
import random
import sys
import unittest

from merit_reward import _values, code
from merit_reward._programs import Answer

SANDBOX = sys.platform == "wasi"


@contextlib.contextmanager
def put(module, name, value):
    """Another value for a name, for a while."""
    was = getattr(module, name)
    setattr(module, name, value)
    try:
        yield
    finally:
        setattr(module, name, was)


def refuse(value):
    raise AssertionError(f"no data: {value!r}")


def one(source, test, **options):
    return code.run(source, [test], **options).tests[0]


class Values(unittest.TestCase):
    # Promise: what is data comes back as it was, of the same types and in the same order.
    def test_round_trip(self):
        shared = [1, 2.0, "a\ud800\x00é", None, True]
        for value in (
            *shared,
            shared,
            2**53 + 1,
            -(2**53) - 1,
            [2**60, 1],
            1e300,
            -0.0,
            (1, [2, (3,)]),
            {"b": 1, "a": (2, {3: {4}})},
            {(1, 2): frozenset((3,)), None: b"\x00\xff", True: bytearray(b"x")},
            {"tuple": [1]},  # a dict that looks like a tag
            1 + 2j,
            range(1, 10, 3),
            collections.deque([1, (2,)]),
            collections.Counter("aab"),
            collections.OrderedDict(x=1, y=2),
            [],
            (),
            set(),
            {},
        ):
            text = json.dumps(_values.encode(value, refuse))
            back = _values.decode(json.loads(text), refuse)
            self.assertEqual((repr(back), type(back)), (repr(value), type(value)))

    def test_long_integers(self):
        for value in (10**600, 10**700, 10**4000, 10**4500, -(10**4500)):
            self.assertTrue(_values.decode(json.loads(json.dumps(_values.encode(value, refuse))), refuse) == value)

    def test_numbers_that_are_none(self):
        for value in (float("nan"), float("inf"), float("-inf")):
            text = json.dumps(_values.encode([value], refuse), allow_nan=False)
            self.assertEqual(repr(_values.decode(json.loads(text), refuse)), repr([value]))

    def test_views_and_subclasses(self):
        class Words(str):
            pass

        point = collections.namedtuple("point", "x y")(1, 2)
        for value, expected in ((Words("a"), "a"), (point, (1, 2)), (collections.defaultdict(int, a=1), {"a": 1})):
            back = _values.decode(_values.encode(value, refuse), refuse)
            self.assertEqual((back, type(back)), (expected, type(expected)))
        d = {"b": 1, "a": 2}
        for value in (d.keys(), d.values(), d.items()):
            back = _values.decode(_values.encode(value, refuse), refuse)
            self.assertEqual((list(back), type(back)), (list(value), type(value)))


class Program:
    """A program that answers with the texts that a test has given."""

    answers = []

    def __init__(self, _language):
        self.left = list(self.answers)

    def ask(self, _request, fuel):
        text = self.left.pop(0)
        return text if isinstance(text, Answer) else Answer("answered", text, 7)

    def mark(self):
        self.marked = list(self.left)

    def rewind(self):
        self.left = list(self.marked)

    def close(self):
        pass


LOADED = '{"ok":true,"names":["f"],"values":[]}'


def answered(*answers):
    """What becomes of a test that calls f, if the program answers so."""
    with put(code, "Program", type("P", (Program,), {"answers": answers})):
        return one("", "result = f([1], x={})\nassert result == 5, repr(result)")


class HostileAnswers(unittest.TestCase):
    # Promise: an answer that is none of the language ends the test as crashed, whatever it is; it never passes and never raises.
    def test_nonsense_is_a_crash(self):
        deep = "[" * 10_000 + "]" * 10_000
        for text in (
            "", "null", "5", '"x"', "[]", "{}", "{", '{"value":NaN}', '{"value":Infinity}', '{"value":' + deep + "}",
            '{"value":' + '{"tuple":[' * 2000 + "1" + "]}" * 2000 + "}",
            '{"value":' + "9" * 5000 + "}", '{"value":' + "9" * 700 + "}", '{"value":{"int":"' + "9" * 700 + '"}}', '{"value":{"int":"' + "9" * 5000 + '"}}', '{"value":{"int":"__import__"}}', '{"value":{"int":5}}',
            '{"value":{"float":"1e9"}}', '{"value":{"float":5}}', '{"value":{}}', '{"value":{"new":1}}',
            '{"value":{"dict":5}}', '{"value":{"dict":[[1]]}}', '{"value":{"dict":[[1,2,3]]}}', '{"value":{"dict":[[[],1]]}}', '{"value":{"set":[[]]}}',
            '{"value":{"bytes":5}}', '{"value":{"bytes":"\\u00e9"}}', '{"value":{"complex":["a","b"]}}', '{"value":{"range":[1,2,0]}}',
            '{"value":{"range":["a",2]}}', '{"value":{"range":[0,1000001,1]}}', '{"value":{"range":[0,{"int":"0xffffffffffffffffffff"},1]}}', '{"value":{"view":["__class__",{"dict":[]}]}}', '{"value":{"view":["clear",{"dict":[]}]}}',
            '{"value":{"view":["keys",5]}}', '{"value":{"iterator":5}}', '{"value":{"callable":"x"}}', '{"value":{"callable":true}}',
            '{"value":5,"args":5}', '{"value":5,"args":[5]}', '{"value":5,"args":[[9,[]]]}', '{"value":5,"args":[["y",{"dict":[]}]]}',
            '{"value":5,"args":[[0,5]]}', '{"value":5,"args":[[0,{"dict":[]}]]}', '{"value":5,"args":[["x",[]]]}', '{"value":5,"args":[[true,[]]]}',
            '{"error":5}', '{"error":{"bases":5}}', '{"error":{"bases":[5]}}',
            '{"value":{"dict":[' + ",".join(f"[{k * sys.hash_info.modulus},0]" for k in range(1, 3000)) + "]}}",
            '{"value":"' + "x" * (4 << 20) + '"}',
        ):  # fmt: skip
            with self.subTest(text[:80]):
                t = answered(LOADED, text)
                self.assertEqual((t.verdict, t.fuel), ("crashed", 14), t.message)
                self.assertIn("cannot be read", t.message)

    # Promise: nor does what is in the language, but no value that passes.
    def test_values_that_lie(self):
        for text, verdict in (
            ('{"value":5}', "passed"),
            ('{"value":5,"value":4}', "failed"),
            ('{"value":"5"}', "failed"),
            ('{"value":{"object":"builtins.int","repr":"5"}}', "failed"),
            ('{"value":{"object":"builtins.int","repr":"5","handle":0}}', "failed"),
            ('{"value":{"object":1,"handle":"x"}}', "failed"),
            ('{"value":{"callable":0}}', "failed"),
            ('{"value":{"iterator":[5]}}', "failed"),
            ('{"value":1e999}', "failed"),
            ('{"value":5,"error":{"type":"ValueError","message":"m"}}', "error"),
            ('{"error":{"type":"AssertionError","message":"m"}}', "error"),
            ('{"error":{"type":"SystemExit","args":[0]}}', "error"),
            ('{"error":{"type":"KeyboardInterrupt"}}', "error"),
            ('{"error":{"type":"eval"}}', "error"),
            ('{"error":{"type":"ExceptionGroup","args":["m"]}}', "error"),
            ('{"error":{"type":"MemoryError"}}', "out_of_memory"),
            ('{"value":5,"args":[[0,[1,2,3]],["x",{"dict":[[1,2]]}]],"output":"o"}', "passed"),
            ('{"value":5,"output":5}', "crashed"),
            (Answer("out_of_fuel", "the fuel is used up", 9), "out_of_fuel"),
            (Answer("crashed", "exit 0", 9), "crashed"),
        ):
            with self.subTest(text):
                t = answered(LOADED, text)
                self.assertEqual(t.verdict, verdict, t.message)

    # Promise: an object has methods only where the test has called a class of ``classes``, whatever the program says of it.
    def test_forged_instances(self):
        forged = '{"value":{"object":"Frame","repr":"Frame()","handle":0}}'
        agrees = ['{"callable":true}', '{"value":true}']
        with put(code, "Program", type("P", (Program,), {"answers": [LOADED, forged, *agrees]})):
            self.assertEqual(one("", "assert f(1).equals(4)").verdict, "failed")
            self.assertEqual(one("", "assert f(1).equals(4)", classes=["f"]).verdict, "passed")
        with put(code, "Program", type("P", (Program,), {"answers": [LOADED, '{"value":5}']})):
            self.assertEqual(one("", "f(1)", classes=["f"]).verdict, "crashed")

    # Promise: what a solution answers cannot cost the reward more than the test's fuel, and so not the evaluation its verdict.
    def test_answers_that_are_dear_to_read(self):
        for text in ("[" + ",".join(["[]"] * 20_000) + "]", "[" + ",".join(["{}"] * 5_000) + "]"):
            with put(code, "Program", type("P", (Program,), {"answers": [LOADED, f'{{"value":{text}}}']})):
                t = one("", "try: f(1)\nexcept BaseException: pass")
            self.assertEqual((t.verdict, t.fuel), ("out_of_fuel", 14), t.message)
        slow = ",".join('{"dict":[%s]}' % ",".join(f"[{k * sys.hash_info.modulus},0]" for k in range(1, 60)) for _ in range(3))
        self.assertEqual(answered(LOADED, f'{{"value":[{slow}]}}').verdict, "crashed")

    # Promise: an exception of the solution does not end a loop of the test as if there were no more items.
    def test_exceptions_that_end_loops(self):
        for name in ("StopIteration", "StopAsyncIteration"):
            for test in ("assert all(map(lambda x: f(x) == x, [1]))", "for a, b in zip(map(f, [1]), [1]): assert a == b", "for x in iter(f, 5): assert 0"):
                with put(code, "Program", type("P", (Program,), {"answers": [LOADED, f'{{"error":{{"type":"Mine","bases":["{name}"]}}}}']})):
                    self.assertEqual(one("", test).verdict, "error")

    # Promise: texts of a report can be written down, whatever a solution puts into them.
    def test_texts_are_well_formed(self):
        for text in ('{"error":{"type":"\\ud800","message":"\\ud800"},"output":"\\ud800"}', '{"value":"\\ud800"}'):
            with put(code, "Program", type("P", (Program,), {"answers": [LOADED, text]})):
                t = one("", "raise ValueError(f(1))")
            self.assertNotEqual(t.verdict, "passed")
            (t.message + t.output).encode()

    # Promise: whatever a program answers, the test ends with a verdict, and passes only with the right value.
    def test_random_answers(self):
        r = random.Random(7)
        tags = [*_values.READ, "of", "iterator", "more", "object", "repr", "handle", "callable", "error", "new"]
        words = ["5", "nan", "0x5", "-", "", "Counter", "keys", "items", "ValueError", "MemoryError", "\ud800", "__class__"]

        def value(depth):
            leaves = [5, 0, -1, 1.5, True, None, 1 << 80, r.choice(words), {"int": "5"}, {"float": "inf"}]
            if depth == 0 or r.random() < 0.3:
                return r.choice(leaves)
            if r.random() < 0.4:
                return [value(depth - 1) for _ in range(r.randrange(4))]
            return {r.choice(tags): value(depth - 1) for _ in range(r.randrange(1, 3))}

        verdicts = collections.Counter()
        for _ in range(300 if SANDBOX else 1500):
            answer = {key: value(4) for key in ("value", "args", "error", "output") if r.random() < (0.9 if key == "value" else 0.15)}
            text = json.dumps(answer)
            if r.random() < 0.2:
                at = r.randrange(len(text))
                text = text[:at] + r.choice('{}[]",:x') + text[at + r.randrange(2) :]
            verdict = answered(LOADED, text, text, text).verdict
            verdicts[verdict] += 1
            if verdict == "passed":
                self.assertIn(answer["value"], (5, {"int": "5"}, {"int": "0x5"}))
        self.assertEqual({*verdicts} - {"passed"}, {"failed", "error", "crashed"}, verdicts)

    # Promise: names of the solution do not stand in for Python's own functions.
    def test_builtin_names_are_not_taken(self):
        with put(code, "Program", type("P", (Program,), {"answers": ['{"names":["abs","f","AssertionError",5,null]}', '{"value":9}']})):
            self.assertEqual(one("", "assert abs(f() - 1) < 1").verdict, "failed")

    # Promise: a program that was stopped stays the verdict, though the test catches everything.
    def test_stopped_is_not_caught(self):
        with put(code, "Program", type("P", (Program,), {"answers": [LOADED, Answer("crashed", "gone", 1)]})):
            t = one("", "for i in range(3):\n    try:\n        f()\n    except BaseException:\n        pass")
        self.assertEqual((t.verdict, t.message), ("crashed", "gone"))

    # Promise: a load that is not understood is a crash too.
    def test_hostile_load(self):
        for text in ("", "[]", '{"names":5}', '{"error":7}', '{"names":[],"values":["f"]}'):
            self.assertIn(answered(text, "5").verdict, ("crashed", "error"), text)


class Forms(unittest.TestCase):
    # Promise: a test has one of four forms, and what is none is the author's error.
    def test_check(self):
        source, test = "def add(x, y): return x + y", "def check(candidate):\n    assert candidate(1, 2) == 3\n    assert add(1, 1) == 2\n"
        report = code.run(source, test, entry_point="add")
        self.assertEqual((report.all_passed, report.passed, report.total, report.stopped), (True, 1, 1, None))
        t = code.run(source.replace("+", "-"), test, entry_point="add").tests[0]
        self.assertEqual((t.verdict, t.message), ("failed", "line 2: assert candidate(1, 2) == 3: AssertionError"))
        self.assertEqual(code.run("x = 1", test, entry_point="add").tests[0].verdict, "error")
        with self.assertRaisesRegex(ValueError, "entry_point"):
            code.run(source, test)

    def test_statements(self):
        report = code.run("def add(x, y):\n    return x + y", ["assert add(1, 2) == 3", "assert add(1, 2) == 4", "assert sub(1) == 1", "add()"])
        self.assertEqual([t.verdict for t in report.tests], ["passed", "failed", "error", "error"])
        self.assertFalse(report.all_passed)
        self.assertIn("missing 2 required positional arguments", report.tests[3].message)
        self.assertIn("2 of", str(code.run("def f(): return 1", ["assert f() == 1"] * 2)))
        self.assertEqual(len(code.run("def f(): return 1", ["assert f() == 2"] * 2, stop_at_first=True).tests), 1)
        self.assertTrue(one("def f(): return 1.5", "assert isclose(f(), 1.5)", setup="from math import isclose"))

    def test_calls(self):
        source = "class Solution:\n    def add(self, x, y):\n        return (x[0] + y, {'k': (1,)})"
        for entry in ("Solution().add", "Solution.add"):
            t = one(source, {"call": [[1], 2], "returns": [3, {"k": [1]}]}, entry_point=entry)
            self.assertEqual(t.verdict, "passed" if "()" in entry else "error", t.message)
        t = one("def f(x):\n    x.append(1)\n    return x", {"call": [[]], "returns": [2]}, entry_point="f")
        self.assertEqual(t.message, "AssertionError: f([]) returned [1], not [2]")
        with self.assertRaisesRegex(ValueError, "entry_point"):
            code.run("", {"call": [], "returns": 1})

    def test_programs(self):
        source = "import sys\nn = int(input())\nprint(sum(map(int, open(0).read().split())) * n)\nprint('x', file=sys.stderr)\nsys.exit(0)"
        report = code.run(source, [{"input": "2\n3 4\n", "output": "14 \n\n"}, {"input": "1\n1", "output": "2"}, {"input": "", "output": ""}])
        self.assertEqual([t.verdict for t in report.tests], ["passed", "failed", "error"])
        self.assertEqual(report.tests[1].message, "AssertionError: line 1 of the output is '1', not '2'")
        self.assertEqual(one("import sys\nprint(sys.stdin.buffer.read().decode())\nsys.exit(3)", {"input": "a", "output": "a"}).verdict, "error")
        self.assertEqual(one("print('a\\nb')", {"input": "", "output": "a"}).verdict, "failed")
        self.assertEqual(one("if __name__ == '__main__':\n    print(1)", {"input": "", "output": "1"}).verdict, "passed")

    def test_what_is_no_test(self):
        for tests in ([], [5], [{"input": 1, "output": "x"}], [{}], {"call": 5, "returns": 1}):
            with self.assertRaises(ValueError):
                code.run("", tests, entry_point="f")
        with self.assertRaises(SyntaxError):
            code.run("", ["assert ("])

    # Promise: a source that does not load is an error of every test, and is tried once.
    def test_source_that_does_not_load(self):
        report = code.run("def f(:", ["assert f() == 1", "assert f() == 2"])
        self.assertEqual([(t.name, t.verdict) for t in report.tests], [("test 1", "error"), ("test 2", "error")])
        self.assertIn("SyntaxError", report.tests[1].message)
        self.assertIn('File "solution.py", line 2, in <module>\n    1 / 0', one("x = 1\n1 / 0", "assert x == 1").message)


class Exactness(unittest.TestCase):
    # Promise: what a test sees of the solution is what it would see of a function beside it.
    def test_values(self):
        source = """
import math, collections
from dataclasses import dataclass
LIMIT = (1, 2)
def same(*args, **kwargs): return (args, kwargs)
def fill(a, b, c, *, d):
    a.append(1); b["k"] = 2; c.add(3); d[0][0] = 4
def count(n):
    yield from range(n)
    raise KeyError("end")
def forever():
    n = 0
    while True:
        yield n
        n += 1
def adder(x): return lambda y: x + y
class Odd(ValueError): pass
def fail(kind):
    raise {"odd": Odd("no"), "key": KeyError("k"), "os": FileNotFoundError(2, "none"), "plain": Exception("e"), "exit": SystemExit(0)}[kind]
@dataclass
class Point:
    x: int
    def moved(self, by):
        self.x += by
        return self.x
def make(x): return Point(x)
def decode(data): return data.decode()
def note(d): d["a"] = [1]
calls = 0
def state():
    global calls
    calls += 1
    print("call", calls)
    return calls
"""
        test = """
import itertools
assert same([1], (2,), k={3: 4}) == (([1], (2,)), {"k": {3: 4}})
assert list(same(**{"b": 1, "a": 2})[1]) == ["b", "a"]
nan = same(float("nan"))[0][0]; assert nan != nan
assert same(10**30)[0][0] == 10**30 and same(True)[0][0] is True and type(same(1.0)[0][0]) is float
assert same([1, 2]) != same((1, 2))
assert LIMIT == (1, 2) and math.floor(1.5) == 1
a, b, c, d = [], {}, set(), [[0]]
assert fill(a, b, c, d=d) is None
assert (a, b, c, d) == ([1], {"k": 2}, {3}, [[4]])
g, got = count(100), []
try:
    for v in g: got.append(v)
except KeyError as e: assert e.args == ("end",)
assert got == list(range(100))
assert list(itertools.islice(forever(), 50)) == list(range(50))
assert adder(3)(4) == 7
assert same(iter([1]))[0][0].__next__() == 1
for kind, types in {"odd": ValueError, "key": KeyError, "os": FileNotFoundError, "plain": Exception}.items():
    try: fail(kind)
    except types as e: assert str(e) in ("no", "'k'", "[Errno 2] none", "e"), e
    else: assert False
try: fail("exit")
except Exception as e: assert e.type == "SystemExit"
try: decode(b"\\xff")
except UnicodeDecodeError as e: assert isinstance(e, ValueError)
else: assert False
import collections
noted = collections.defaultdict(list)
assert note(noted) is None and noted == {"a": [1]} and noted["b"] == []
p = Point(3)
assert p.x == 3 and p.moved(2) == 5 and p.x == 5 and p == Point(5) and p != Point(4) and p != 5
assert make(3) != Point(3) and repr(make(3)) == "Point(x=3)"
assert [state(), state()] == [1, 2] and callable(state) and state.__name__ == "state"
"""
        t = one(source, test, classes=["Point"])
        self.assertEqual((t.verdict, t.message), ("passed", ""))
        self.assertEqual(t.output, "call 1\ncall 2\n")

    def test_what_is_no_data_says_so(self):
        t = one("class A: pass\ndef f(): return A()", "assert f() == 1")
        self.assertEqual(t.verdict, "failed")
        self.assertIn("solution.A, which is no data", t.message)
        with self.assertRaisesRegex(code.CannotCross, "function"):
            code.run("def f(g): return g(1)", ["try:\n    f(lambda x: x)\nexcept Exception:\n    pass"])

    def test_each_test_begins_anew(self):
        report = code.run("n = []\ndef f():\n    n.append(1)\n    return len(n)", ["assert f() == 1"] * 2)
        self.assertTrue(report.all_passed)


CHECK = "def check(candidate):\n    assert candidate(2) == 4\n    assert candidate(3) == 9\n"
LIAR = """
class Liar(int):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    __hash__ = int.__hash__
def square(x): return Liar(0)
"""
# What a solution may try, and the verdict: one that passes would be wrong.
HOSTILE = {
    "int that equals everything": (LIAR, "failed"),
    "object that equals everything": ("class A:\n    def __eq__(s, o): return True\ndef square(x): return A()", "failed"),
    "text that equals everything": (LIAR.replace("int", "str"), "failed"),
    "list that equals everything": (LIAR.replace("(int)", "(list)").replace("int.__hash__", "None").replace("Liar(0)", "Liar()"), "failed"),
    "builtins are replaced": ("import builtins\nbuiltins.AssertionError = None\nbuiltins.abs = lambda x: 0\ndef square(x): return 0", "failed"),
    "check is replaced": (
        "import sys, gc\ndef check(candidate): return True\n"
        "for m in list(sys.modules.values()): setattr(m, 'check', check) if m else None\ndef square(x): return 0",
        "failed",
    ),
    "the runner is replaced": (
        "import sys\nsays = lambda *a, **k: '{\"ok\":true,\"names\":[\"square\"],\"value\":true,\"verdict\":\"passed\"}'\n"
        "sys.modules['merit_reward._program'].dumps = sys.modules['merit_reward._program'].answer = says",
        "failed",
    ),
    "a verdict is printed": ("def square(x):\n    print('{\"verdict\": \"passed\", \"score\": 1.0}')\n    return 0", "failed"),
    "exit at load": ("import sys\ndef square(x): return 0\nsys.exit(0)", "error"),
    "exit in the call": ("def square(x): raise SystemExit", "error"),
    "an assertion of its own": ("def square(x): raise AssertionError", "error"),
    "os._exit": ("import os\ndef square(x): os._exit(0)", "crashed"),
    "recursion": ("def square(x): return square(x)", "error"),
    "memory": ("def square(x): return len(bytearray((1 << 31) - 1))", "out_of_memory"),
    "the code of the proxy": ("def square(x): return 0\nsquare.__code__ = (lambda x: 4).__code__", "failed"),
}


class HostileSolutions(unittest.TestCase):
    # Promise: no solution that is wrong passes, whatever it does to its interpreter.
    def test_table(self):
        for name, (source, verdict) in HOSTILE.items():
            with self.subTest(name):
                t = code.run(source, CHECK, entry_point="square").tests[0]
                self.assertEqual(t.verdict, verdict, t.message)

    # Promise: an endless loop is ended natively, too, by a time-out.
    def test_endless(self):
        with contextlib.nullcontext() if SANDBOX else put(__import__("merit_reward._programs_native")._programs_native, "SHORTEST", 0.5):
            t = code.run("def square(x):\n    while True: pass", CHECK, entry_point="square", fuel=5_000_000).tests[0]
        self.assertEqual(t.verdict, "out_of_fuel", t.message)

    @unittest.skipIf(SANDBOX, "it is there")
    def test_javascript_is_for_the_sandbox(self):
        with self.assertRaisesRegex(OSError, "sandbox only"):
            code.run("", ["assert f() == 1"], language="javascript")


class Extract(unittest.TestCase):
    # Promise: the source is the last block of the language; without a block all is source.
    def test_table(self):
        for text, source in (
            ("def f(): pass", "def f(): pass"),
            ("a\n```python\nx = 1\n```\nb\n```py\nx = 2\n```", "x = 2\n"),
            ("```python\nx = 1\n```\n```\nout\n```", "x = 1\n"),
            ("```\nx = 1\n```", "x = 1\n"),
            ("```js\nx = 1\n```", "```js\nx = 1\n```"),
            ("~~~python\nx = '```'\n~~~", "x = '```'\n"),
            ("````python\n```\nx\n```\n````", "```\nx\n```\n"),
            ("```python\nx = 1", "x = 1\n"),
            ('```Python title="a"\n  x\n```', "  x\n"),
            ("``` a`b", "``` a`b"),
            ("1. So:\n\n   ```python\n   def f():\n       x\n\n  y\n   ```\n", "def f():\n    x\n\ny\n"),
            ("```{.python}\nx\n```", "x\n"),
            ("```python:main.py\nx\n```", "x\n"),
            ("```Python3\nx\n```", "x\n"),
            ("```pythonic\nx\n```\n```\ny\n```", "y\n"),
            ("```c++\nx\n```", "```c++\nx\n```"),
            ("```python\nx\nprint(x)```\nIt prints x.", "x\nprint(x)\n"),
            ("<answer>\nx = 1\n</answer>", "x = 1\n"),
            ("a <answer> b\n[PYTHON]\nx = '<answer>'\n[/PYTHON]\n", "x = '<answer>'\n"),
            ("print('<code>x</code>')", "print('<code>x</code>')"),
            ("", ""),
        ):
            self.assertEqual(code.extract(text), source)
        self.assertEqual(code.extract("```python\nx\n```\n```js\ny\n```", "javascript"), "y\n")


class Several(unittest.TestCase):
    # Promise: a source is loaded once, every test begins with the state after that, and one that is stopped does not stop the others.
    def test_each_begins_anew(self):
        source = "n = []\ndef f(x):\n    n.append(x)\n    while x == 2: pass\n    return len(n)"
        report = code.run(source, [{"call": [x], "returns": 1} for x in (1, 2, 3, 4)], entry_point="f", fuel=4_000_000 if SANDBOX else 1)
        self.assertEqual([t.verdict for t in report.tests], ["passed", "out_of_fuel", "passed", "passed"])
        self.assertEqual(str(report).split("\n")[0], "3 of 4 tests passed; out_of_fuel: 2")
        mixed = code.run("x = 5\nprint(x)", [{"input": "", "output": "5"}, "assert x == 5", {"input": "", "output": "5.0"}])
        self.assertTrue(mixed.all_passed, mixed)

    # Promise: tests whose answers the host got in one exchange have the verdicts, messages, fuel and outputs of tests that ask one by one.
    @unittest.skipUnless(SANDBOX, "natively they ask one by one")
    def test_told(self):
        calls = [{"call": [x], "returns": 1} for x in range(9)]
        inputs = [{"input": f"{x}\n", "output": "1"} for x in range(9)]
        ends = "if x == 2: 1 / 0\nif x == 3:\n    while True: pass\nif x == 4: os._exit(1)\nif x == 5: b = [0] * 10**9\nif x == 6: sys.exit(3)\nif x == 7: print('é\\n' * 30_000)\nn.append(x)\n"
        function = "import os, sys\nn = []\nprint('loaded')\ndef f(x):\n" + "".join(f"    {line}\n" for line in ends.splitlines()) + "    return len(n)"
        method = f"{function}\nclass Solution:\n    def g(self, x):\n        if type(x) is list: x.append(1)\n        return f(x)"
        program = f"import os, sys\nn = []\nx = int(input())\n{ends}print(len(n))"
        sums = "def f(x): return sum(range(1000)) and 1"
        most = sum(t.fuel for t in code.run(sums, calls, entry_point="f").tests)
        for name, source, tests, options in (
            ("calls", function, calls, {"entry_point": "f"}),
            ("the first to stop ends them", function, calls, {"entry_point": "f", "stop_at_first": True}),
            ("all pass", "def f(x): return 1", calls, {"entry_point": "f", "stop_at_first": True}),
            *(("a limit for all", sums, calls, {"entry_point": "f", "total_fuel": n}) for n in (most // 20, most // 2, most * 3 // 4)),
            ("methods", method, [*calls, {"call": [[1]], "returns": 1}], {"entry_point": "g"}),
            ("no such name", function, calls, {"entry_point": "absent"}),
            ("programs", program, inputs, {}),
            ("long inputs", program, [{"input": f"{x}{' ' * 30_000}\n", "output": "1"} for x in range(5)], {}),
            ("every form", function, [*calls[:3], "assert f(0) == 1", *inputs[:3], *calls[6:]], {"entry_point": "f"}),
        ):
            with self.subTest(name):
                told = code.run(source, tests, fuel=20_000_000, **options)
                with put(code._Told, "session", lambda *_: None):
                    asked = code.run(source, tests, fuel=20_000_000, **options)
                    self.assertTrue({"passed", "out_of_fuel"} <= {t.verdict for t in told.tests} or name != "a limit for all" or options["total_fuel"] == most // 20, told)
                self.assertEqual(told.tests, asked.tests)
                self.assertEqual(told.total, asked.total)

    # Promise: what cannot be brought into a program is the defect of its own test, after those before it.
    def test_told_what_cannot_cross(self):
        with self.assertRaisesRegex(code.CannotCross, "object"):
            code.run("def f(x): return 1", [{"call": [x], "returns": 1} for x in (1, 2, object(), 3)], entry_point="f")

    # Promise: total_fuel ends the tests that would come, each with a verdict.
    def test_total_fuel(self):
        with put(code, "Program", type("P", (Program,), {"answers": [LOADED, '{"value":5}']})):
            report = code.run("", ["assert f() == 5"] * 4, total_fuel=20)
        self.assertEqual([t.verdict for t in report.tests], ["passed", "passed", "out_of_fuel", "out_of_fuel"])
        self.assertIn("2 of 4 tests passed; out_of_fuel: 3-4\ntest 3: out_of_fuel: not run", str(report))

    # Promise: a report is bounded, however many tests did not pass.
    def test_bounded_report(self):
        done = [code.Test(f"test {i}", "failed" if i % 2 else "error", "x" * 2000, 0, "") for i in range(1000)]
        self.assertLess(len(str(code.Report(done, 1000))), 10_000)


class Tolerance(unittest.TestCase):
    # Promise: numbers count by their value and floats within the tolerance; what is not finite only as it is written.
    def test_outputs(self):
        for got, expected, tolerance, same in (
            ("0.50", "0.5", 0, True), ("1e3 +7", "1000 7", 0, True), ("0.1001", "0.1", 0, False), ("0.1001", "0.1", 0.001, True),
            ("101", "100", 0.1, False), ("101.0", "100", 0.1, True), ("nan", "nan", 0, True), ("nan", "1.0", 0.9, False), ("inf", "1.0", 0.9, False),
            ("1e999", "inf", 0.9, False), ("1e999", "1e998", 0.9, False), ("a", "b", 0.9, False), ("1_0", "10", 0.9, False), ("1 2", "1", 0.9, False),
        ):  # fmt: skip
            t = one(f"print({got!r})", {"input": "", "output": expected, "tolerance": tolerance})
            self.assertEqual(t.verdict, "passed" if same else "failed", (got, expected, tolerance, t))

    def test_results(self):
        for got, expected, same in (("0.1 + 0.2", 0.3, True), ("[1, (0.3000000001,)]", [1, [0.3]], True), ("float('nan')", 0.5, False), ("10 ** 400", 0.5, False), ("3", 4, False)):
            t = one(f"def f(): return {got}", {"call": [], "returns": expected, "tolerance": 1e-6}, entry_point="f")
            self.assertEqual(t.verdict, "passed" if same else "failed", (got, expected, t))
        for wrong in (-1, 1, "x", True, float("nan")):
            with self.assertRaises(ValueError):
                code.run("", "pass", tolerance=wrong)


if __name__ == "__main__":
    unittest.main()
