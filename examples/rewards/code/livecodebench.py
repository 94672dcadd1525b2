"""Compares this reward with LiveCodeBench's own runner, on programs and functions as people write them.

    python livecodebench.py testing_util.py    # writes fixtures/livecodebench.jsonl

testing_util.py is lcb_runner/evaluation/testing_util.py of LiveCodeBench at 28fef95; it
needs numpy. Every row is in LiveCodeBench's format, with what that runner says as
``expected``. ``DIFFERENCES`` are the solutions on which the two do not agree; test_code.py
holds that there are no others.
"""

from __future__ import annotations

import base64
import importlib.util
import json
import multiprocessing
import os
import pickle
import sys
import zlib

TIMEOUT = 20  # seconds

# Programs: the input is lines, and the answer is made of the list of them.
PROBLEMS = {
    "sum": ("print(sum(map(int, lines[1].split())))", [("3\n1 2 3\n", "6\n"), ("1\n5\n", "5\n"), ("2\n-4 4\n", "0\n")]),
    "words": ("for w in lines[0].split():\n    print(w[::-1])", [("abc de f\n", "cba\ned\nf\n"), ("x\n", "x\n")]),
    "prefix": (
        "s = 0\nout = []\nfor v in map(int, lines[1].split()):\n    s += v\n    out.append(s)\nprint(*out)",
        [("4\n1 2 3 4\n", "1 3 6 10\n"), ("2\n7 -7\n", "7 0\n")],
    ),
    "mean": ("v = list(map(int, lines[1].split()))\nprint(sum(v) / len(v))", [("2\n1 2\n", "1.5\n"), ("4\n1 1 1 2\n", "1.25\n")]),
    "queue": (
        "from collections import deque\nfrom heapq import heappush, heappop\nh = []\nfor v in deque(map(int, lines[1].split())):\n    heappush(h, v)\nwhile h:\n    print(heappop(h))",
        [("3\n3 1 2\n", "1\n2\n3\n"), ("1\n9\n", "9\n")],
    ),
}
WRONG = {"sum": ("sum(map", "1 + sum(map"), "words": ("[::-1]", "[::1]"), "prefix": ("s = 0", "s = 1"), "mean": ("/ len(v)", "// len(v)"), "queue": ("print(heappop(h))", "print(-heappop(h))")}

INDENTED = "def main():\n    READ\n    BODY\n"
FAST = """import os, sys
from io import BytesIO, IOBase
class FastIO(IOBase):
    newlines = 0
    def __init__(self, file):
        self._fd = file.fileno()
        self.buffer = BytesIO()
        self.write = self.buffer.write
    def read(self):
        while True:
            b = os.read(self._fd, max(os.fstat(self._fd).st_size, 8192))
            if not b: break
            ptr = self.buffer.tell()
            self.buffer.seek(0, 2), self.buffer.write(b), self.buffer.seek(ptr)
        return self.buffer.read()
lines = FastIO(sys.stdin).read().decode().split("\\n")
BODY
"""
STYLES = {
    "input until EOFError": "lines = []\nwhile True:\n    try: lines.append(input())\n    except EOFError: break\nBODY\n",
    "read": "import sys\nlines = sys.stdin.read().split('\\n')\nBODY\n",
    "readline": "import sys\nlines = []\nwhile True:\n    line = sys.stdin.readline()\n    if not line: break\n    lines.append(line.rstrip())\nBODY\n",
    "readlines": "import sys\nlines = sys.stdin.readlines()\nBODY\n",
    "buffer.read": "import sys\nlines = sys.stdin.buffer.read().decode().split('\\n')\nBODY\n",
    "buffer.readline": "import sys\nlines = [sys.stdin.buffer.readline().decode() for _ in range(2)]\nBODY\n",
    "lines of stdin": "import sys\nlines = []\nfor line in sys.stdin:\n    lines.append(line)\nBODY\n",
    "open(0)": "lines = open(0).read().split('\\n')\nBODY\n",
    "from sys import stdin": "from sys import stdin\nlines = stdin.read().split('\\n')\nBODY\n",
    "input is replaced": "import sys\ninput = lambda: sys.stdin.readline().rstrip('\\r\\n')\nlines = [input(), input()]\nBODY\n",
    "__main__": "import sys\ndef main():\n    lines = sys.stdin.read().split('\\n')\n    BODY\n\nif __name__ == '__main__':\n    main()\n",
    "a thread": "import sys, threading\nsys.setrecursionlimit(10 ** 6)\nthreading.stack_size(1 << 26)\ndef main():\n    lines = sys.stdin.read().split('\\n')\n    BODY\n\nt = threading.Thread(target=main)\nt.start()\nt.join()\n",
    "globals": "import sys\nlines = None\ndef read():\n    global lines\n    lines = sys.stdin.read().split('\\n')\nread()\nBODY\n",
    "FastIO": FAST,
}

# Whole programs whose output or end is unusual: (source, input, output).
ENDS = {
    "no newline at the end": ("print(input(), end='')", "a\n", "a\n"),
    "spaces at the ends of lines": ("print(input() + '   ')\nprint()", "a\n", "a\n"),
    "spaces before lines": ("print('   ' + input())", "a\n", "a\n"),
    "spaces expected before lines": ("print(input())", "a\n", "   a\n"),
    "an empty line between": ("print(1)\nprint()\nprint(2)", "\n", "1\n2\n"),
    "an empty line expected": ("print(1)\nprint()\nprint(2)", "\n", "1\n\n2\n"),
    "empty lines around": ("print()\nprint(1)\nprint()", "\n", "1\n"),
    "two spaces in a line": ("print('a  b')", "\n", "a b\n"),
    "two spaces between numbers": ("print('1  2')", "\n", "1 2\n"),
    "tab between numbers": ("print('1\\t2')", "\n", "1 2\n"),
    "zeros at the end": ("print('0.50')", "\n", "0.5\n"),
    "an integer as a float": ("print(4 / 2)", "\n", "2\n"),
    "an exponent": ("print('1e3')", "\n", "1000\n"),
    "a sign": ("print('+7')", "\n", "7\n"),
    "zeros in front": ("print('007')", "\n", "7\n"),
    "minus zero": ("print(-0.0)", "\n", "0\n"),
    "a float that is near": ("print(0.1 + 0.2)", "\n", "0.3\n"),
    "a float that is nearly near": ("print(0.333333)", "\n", "0.333334\n"),
    "large integers that differ": ("print(50000000000000000)", "\n", "50000000000000001\n"),
    "nan": ("print(float('nan'))", "\n", "1.0\n"),
    "nan for nan": ("print(float('nan'))", "\n", "nan\n"),
    "NaN for nan": ("print('NaN')", "\n", "nan\n"),
    "inf": ("print(float('inf'))", "\n", "1.0\n"),
    "Infinity for inf": ("print('Infinity')", "\n", "inf\n"),
    "1e999 for inf": ("print('1e999')", "\n", "inf\n"),
    "1e999 for a number": ("print('1e999')", "\n", "7\n"),
    "an underscore in a number": ("print('1_0')", "\n", "10\n"),
    "wide digits": ("print('\\uff17')", "\n", "7\n"),
    "another case": ("print('Yes')", "\n", "YES\n"),
    "more lines": ("print(1)\nprint(2)", "\n", "1\n"),
    "fewer lines": ("print(1)", "\n", "1\n2\n"),
    "nothing": ("pass", "\n", "1\n"),
    "nothing for nothing": ("pass", "\n", "\n"),
    "exit()": ("print(input())\nexit()", "a\n", "a\n"),
    "exit(0) before": ("exit(0)\nprint(1)", "\n", "1\n"),
    "quit()": ("print(input())\nquit()", "a\n", "a\n"),
    "sys.exit(0)": ("import sys\nprint(input())\nsys.exit(0)", "a\n", "a\n"),
    "sys.exit(1)": ("import sys\nprint(input())\nsys.exit(1)", "a\n", "a\n"),
    "sys.exit in a function": ("import sys\ndef main():\n    print(input())\n    sys.exit()\nmain()", "a\n", "a\n"),
    "an exception at the end": ("print(input())\n1 / 0", "a\n", "a\n"),
    "an exception that is caught": ("try:\n    1 / 0\nexcept ZeroDivisionError:\n    print(input())", "a\n", "a\n"),
    "EOFError": ("print(input())\ninput()", "a", "a\n"),
    "EOFError that is caught": ("print(input())\ntry:\n    input()\nexcept EOFError:\n    print('end')", "a", "a\nend\n"),
    "an empty input": ("try:\n    print('[' + input() + ']')\nexcept EOFError:\n    print('end')", "", "end\n"),
    "a syntax error": ("print(input(", "a\n", "a\n"),
    "an import that is none": ("import nothing_of_this_name\nprint(input())", "a\n", "a\n"),
    "stdout.write": ("import sys\nsys.stdout.write(input() + '\\n')", "a\n", "a\n"),
    "stdout.buffer": ("import sys\nsys.stdout.buffer.write(input().encode() + b'\\n')", "a\n", "a\n"),
    "stderr": ("import sys\nprint('debug', file=sys.stderr)\nprint(input())", "a\n", "a\n"),
    "printed twice": ("print(1)\nprint(1)", "\n", "1\n"),
    "flush": ("print(input(), flush=True)", "a\n", "a\n"),
    "a generator of output": ("print('\\n'.join(str(i) for i in range(int(input()))))", "3\n", "0\n1\n2\n"),
    "recursion of 10,000": ("def f(n):\n    return 0 if n == 0 else 1 + f(n - 1)\nprint(f(int(input())))", "10000\n", "10000\n"),
    "names of the preamble": ("h = []\nheappush(h, 2)\nd = deque([gcd(4, 6)])\nc = Counter('aab')\nprint(d[0], c['a'], h[0], inf > 1)", "\n", "2 2 2 True\n"),
    "a class": ("class A:\n    n = 0\n    def add(self): A.n += 1\nfor _ in range(3): A().add()\nprint(A.n)", "\n", "3\n"),
    "a nested function": ("def f(n):\n    return f(n - 1) * n if n else 1\nprint(f(5))", "\n", "120\n"),
    "a comprehension of a global": ("n = 3\nprint(sum(n for _ in range(n)))", "\n", "9\n"),
    "a class uses a global": ("LIMIT = 5\nclass A:\n    x = LIMIT\nprint(A.x)", "\n", "5\n"),
    "a memo": ("from functools import lru_cache\n@lru_cache(None)\ndef f(n):\n    return n if n < 2 else f(n - 1) + f(n - 2)\nprint(f(50))", "\n", "12586269025\n"),
    "an import in a function": ("def f():\n    import math\n    return math.isqrt(10)\nprint(f())", "\n", "3\n"),
    "carriage returns": ("print(input() + '\\r')", "a\n", "a\n"),
    "input with carriage returns": ("print(len(input()))", "ab\r\n", "2\n"),
    "a form feed": ("print('a\\x0c')", "\n", "a\n"),
    "not ASCII": ("print('\\u00e9' + input())", "\u00fc\n", "\u00e9\u00fc\n"),
}  # fmt: skip

# Functions: (source, name, [(arguments, result)]).
ADD, LISTS = [([1, 2], 3), ([5, -5], 0)], [([[3, 1, 2]], [1, 2, 3]), ([[]], [])]
PAIRS = [([[1, 2, 3]], [[1, 2], [2, 3]])]
FUNCTIONS = {
    "a method": ("class Solution:\n    def add(self, a: int, b: int) -> int:\n        return a + b", "add", ADD),
    "a wrong method": ("class Solution:\n    def add(self, a: int, b: int) -> int:\n        return a - b", "add", ADD),
    "a function": ("def add(a, b):\n    return a + b", "add", ADD),
    "a wrong function": ("def add(a, b):\n    return abs(a + b + 1)", "add", ADD),
    "a method with types of the preamble": ("class Solution:\n    def f(self, v: List[int]) -> Optional[List[int]]:\n        return sorted(v)", "f", LISTS),
    "a tuple for a list": ("class Solution:\n    def f(self, v):\n        return tuple(sorted(v))", "f", LISTS),
    "tuples in a list": ("class Solution:\n    def f(self, v):\n        return list(zip(v, v[1:]))", "f", PAIRS),
    "lists in a list": ("class Solution:\n    def f(self, v):\n        return [list(p) for p in zip(v, v[1:])]", "f", PAIRS),
    "a generator": ("class Solution:\n    def f(self, v):\n        yield from sorted(v)", "f", LISTS),
    "an iterator": ("class Solution:\n    def f(self, v):\n        return iter(sorted(v))", "f", LISTS),
    "a set for a list": ("class Solution:\n    def f(self, v):\n        return set(v)", "f", LISTS),
    "sorted in place, and nothing returned": ("class Solution:\n    def f(self, v):\n        v.sort()", "f", LISTS),
    "sorted in place": ("class Solution:\n    def f(self, v):\n        v.sort()\n        return v", "f", LISTS),
    "True for 1": ("class Solution:\n    def f(self, a):\n        return a > 0", "f", [([1], 1), ([0], 0)]),
    "1 for true": ("class Solution:\n    def f(self, a):\n        return int(a > 0)", "f", [([1], True), ([0], False)]),
    "a float for an integer": ("class Solution:\n    def f(self, a):\n        return a / 1", "f", [([3], 3)]),
    "a float that is near": ("class Solution:\n    def f(self, a):\n        return a * 3", "f", [([0.1], 0.3)]),
    "a float that is right": ("class Solution:\n    def f(self, a):\n        return a / 2", "f", [([5], 2.5)]),
    "a text for a number": ("class Solution:\n    def f(self, a):\n        return str(a)", "f", [([3], 3)]),
    "None": ("class Solution:\n    def f(self, a):\n        return None", "f", [([3], None)]),
    "None for false": ("class Solution:\n    def f(self, a):\n        return None", "f", [([3], False)]),
    "state of the instance": ("class Solution:\n    def __init__(self):\n        self.n = 0\n    def f(self, a):\n        self.n += 1\n        return self.n", "f", [([1], 1), ([1], 1)]),
    "state of the class": ("class Solution:\n    seen = []\n    def f(self, a):\n        self.seen.append(a)\n        return len(self.seen)", "f", [([1], 1), ([1], 1)]),
    "a default that changes": ("class Solution:\n    def f(self, a, seen=[]):\n        seen.append(a)\n        return len(seen)", "f", [([1], 1), ([2], 1)]),
    "a global that changes": ("n = 0\nclass Solution:\n    def f(self, a):\n        global n\n        n += 1\n        return n", "f", [([1], 1), ([2], 1)]),
    "a cache": ("class Solution:\n    @cache\n    def fib(self, n):\n        return n if n < 2 else self.fib(n - 1) + self.fib(n - 2)", "fib", [([30], 832040), ([50], 12586269025)]),
    "deep recursion": ("class Solution:\n    def f(self, n):\n        return 0 if n == 0 else 1 + self.f(n - 1)", "f", [([5000], 5000)]),
    "an exception": ("class Solution:\n    def f(self, a):\n        raise ValueError(a)", "f", [([1], 1)]),
    "another name": ("class Solution:\n    def g(self, a):\n        return a", "f", [([1], 1)]),
    "a syntax error": ("class Solution:\n    def f(self, a)\n        return a", "f", [([1], 1)]),
    "an argument more": ("class Solution:\n    def f(self, a, b):\n        return a", "f", [([1], 1)]),
    "an object that equals everything": ("class Any:\n    def __eq__(self, other): return True\n    def __repr__(self): return 'Any'\nclass Solution:\n    def f(self, a):\n        return Any()", "f", [([1], 1)]),
    "a dict": ("class Solution:\n    def f(self, a):\n        return {'a': a}", "f", [([1], {"a": 1})]),
    "integers as keys": ("class Solution:\n    def f(self, a):\n        return {a: 1}", "f", [([1], {"1": 1})]),
    "large integers": ("class Solution:\n    def f(self, a):\n        return a + 1", "f", [([2**70], 2**70 + 1)]),
    "helpers beside the class": ("def helper(a):\n    return a * 2\nclass Solution:\n    def f(self, a):\n        return helper(a)", "f", [([4], 8)]),
    "collections": ("class Solution:\n    def f(self, v):\n        d = defaultdict(list)\n        for x in v: d[x % 2].append(x)\n        return sorted(d[1]) + sorted(d[0])", "f", [([[3, 2, 1]], [1, 3, 2])]),
    "prints too": ("class Solution:\n    def f(self, a):\n        print('debug', a)\n        return a", "f", [([1], 1)]),
    "exits": ("import sys\nclass Solution:\n    def f(self, a):\n        sys.exit(0)", "f", [([1], 1)]),
    "a test at the end of the file": ("class Solution:\n    def f(self, a):\n        return a\n\nif __name__ == '__main__':\n    print(Solution().f(1))", "f", [([1], 1)]),
}  # fmt: skip

MERIT, TASTE = "Merit", "a matter of convention"
SHARED = (MERIT, "the runner calls one object for all tests, so that a test changes the next")
# Solutions on which the two differ, by the end of their names: who is right, and why. All but three lines are solutions
# that are right, and fail in the runner.
DIFFERENCES = {
    ", buffer.readline": (MERIT, "the runner's stdin.buffer.readline gives the first line again and again"),
    ", lines of stdin": (MERIT, "the runner's stdin has no __iter__"),
    ", open(0)": (MERIT, "the runner gives open(0) a mock, made once for all tests"),
    ", globals": (MERIT, "the runner moves the program into a function, so that its globals become local names"),
    ": stdout.buffer": (MERIT, "the runner's stdout has no buffer"),
    ": quit()": (MERIT, "the runner sets quit to None"),
    ": input with carriage returns": (MERIT, "Python ends a line of a text at CR LF; the runner gives the program the CR"),
    ": two spaces in a line": (TASTE, "Merit compares words, as the checkers of contests do; the runner only if all are numbers"),
    ": Infinity for inf": (TASTE, "in Merit what is not finite must be written alike"),
    ": an underscore in a number": (TASTE, "the runner reads 1_0 as 10, as Python does; no judge would"),
    ": wide digits": (TASTE, "the runner reads digits of all scripts"),
    ": sys.exit(1)": (MERIT, "a status that is not 0 is a runtime error in every contest; the runner takes no notice of it"),
    ": tuples in a list": (MERIT, "as in JSON, a tuple counts as a list; for the runner only the outermost does"),
    ": state of the instance": SHARED,
    ": state of the class": SHARED,
    ": a default that changes": SHARED,
    ": a global that changes": SHARED,
    ": an object that equals everything": (MERIT, "the runner asks the solution's own __eq__"),
}  # fmt: skip


def difference(name):
    """Who is right about a solution on which the two differ, and why; None if they do not."""
    return next((d for end, d in DIFFERENCES.items() if name.endswith(end)), None)


def row(name, source, tests, function=None):
    """A row in LiveCodeBench's format, the tests after the first as private ones."""
    kind = "functional" if function else "stdin"
    cases = [{"input": i, "output": o, "testtype": kind} for i, o in tests]
    private = base64.b64encode(zlib.compress(pickle.dumps(json.dumps(cases[1:])))).decode()
    said = [{"role": "user", "content": name}, {"role": "assistant", "content": f"```python\n{source}\n```"}]
    about = {"func_name": function} if function else {}
    return {"id": name, "messages": said, "public_test_cases": json.dumps(cases[:1]), "private_test_cases": private, "metadata": json.dumps(about)}


def rows():
    """All solutions, right and wrong: (row, source, tests, function)."""
    for problem, (body, tests) in PROBLEMS.items():
        for style, text in STYLES.items():
            indent = "    " if "    BODY" in text else ""
            for wrong in (False, True):
                b = body.replace(*WRONG[problem]) if wrong else body
                source = text.replace("BODY", b.replace("\n", "\n" + indent))
                yield f"{problem}, {style}{', wrong' if wrong else ''}", source, tests, None
    for name, (source, given, out) in ENDS.items():
        yield f"program: {name}", source, [(given, out)], None
    for name, (source, function, calls) in FUNCTIONS.items():
        tests = [("\n".join(map(json.dumps, args)), json.dumps(result)) for args, result in calls]
        yield f"function: {name}", source, tests, function


def _judge(path, source, tests, function, out):
    sys.stdin = open(os.devnull)
    sys.stderr = open(os.devnull, "w")
    spec = importlib.util.spec_from_file_location("testing_util", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sample = {"input_output": json.dumps({"inputs": [t[0] for t in tests], "outputs": [t[1] for t in tests], "fn_name": function})}
    results, _ = module.run_test(sample, test=source, timeout=TIMEOUT)
    out.put(all(r is True for r in results))


def reference(path, source, tests, function):
    """What LiveCodeBench's runner says, in a process of its own as it does that."""
    out = multiprocessing.SimpleQueue()
    process = multiprocessing.Process(target=_judge, args=(path, source, tests, function, out))
    process.start()
    process.join(2 * TIMEOUT)
    if process.is_alive():
        process.kill()
    return not out.empty() and out.get()


def main():
    multiprocessing.set_start_method("fork")
    import numpy  # noqa: F401  once, for all processes

    folder = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(folder, "fixtures", "livecodebench.jsonl"), "w", encoding="utf-8") as out:
        for name, source, tests, function in rows():
            said = reference(sys.argv[1], source, tests, function)
            out.write(json.dumps({**row(name, source, tests, function), "expected": float(said)}) + "\n")


if __name__ == "__main__":
    main()
