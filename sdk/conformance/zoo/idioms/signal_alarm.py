import signal
from contextlib import contextmanager


@contextmanager
def timeout(seconds):
    def handler(signum, frame):
        raise TimeoutError()

    old = signal.signal(signal.SIGALRM, handler)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, old)


def alarmed(completions, answer, **kwargs):
    out = []
    for c, a in zip(completions, answer):
        with timeout(5):
            out.append(float(a in c[0]["content"]))
    return out
