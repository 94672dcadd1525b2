"""A competitive programmer's solution, which asks for a large stack in a thread of its own."""
import contextlib
import io
import sys

SOLUTION = """
import sys, threading
def main():
    data = sys.stdin.read().split()
    def depth(n):
        return 0 if n == 0 else 1 + depth(n - 1)
    print(depth(int(data[0])) + int(data[1]))
sys.setrecursionlimit(1 << 20)
threading.stack_size(1 << 26)
t = threading.Thread(target=main)
t.start()
t.join()
"""


def run(code, stdin):
    out = io.StringIO()
    old = sys.stdin
    sys.stdin = io.StringIO(stdin)
    try:
        with contextlib.redirect_stdout(out):
            exec(code, {"__name__": "__main__"})
    finally:
        sys.stdin = old
    return out.getvalue().strip()


def solved(completions, difficulty, **kwargs):
    return [float(run(SOLUTION, f"200 {d}") == str(200 + d)) for d in difficulty]
