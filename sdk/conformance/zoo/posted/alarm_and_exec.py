import signal, re

class TimeoutException(Exception): pass
def handler(signum, frame): raise TimeoutException()
signal.signal(signal.SIGALRM, handler)

def run_tests(code, tests, timeout=6):
    ns = {"__name__": "__main__"}
    passed = 0
    for t in tests:
        signal.alarm(timeout)
        try:
            exec(code, ns)
            exec(t, ns)
            passed += 1
        except TimeoutException:
            pass
        except AssertionError:
            pass
        except Exception as e:
            print("error", repr(e))
        finally:
            signal.alarm(0)
    return passed / len(tests)

def reward_func(completions, tests, **kwargs) -> list[float]:
    out = []
    for c, t in zip(completions, tests):
        text = c if isinstance(c, str) else c[0]["content"]
        m = re.search(r"```(?:python|py)?\s*\n(.*?)\n```", text, re.S)
        out.append(run_tests(m.group(1), t) if m else -0.5)
    return out
