package sandbox_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/merit-rl/merit/core/reward"
	"github.com/stretchr/testify/require"
)

// inPlace are expressions and what they are natively. Names such as f are those
// of inPlaceSetup.
var inPlace = map[string]string{
	"ThreadPoolExecutor(4).submit(square, 3).result(timeout=5)":                                                        "9",
	"list(ThreadPoolExecutor().map(square, range(3), timeout=1))":                                                      "[0, 1, 4]",
	"[f.result() for f in as_completed([ThreadPoolExecutor().submit(square, i) for i in range(4)])]":                   "[0, 1, 4, 9]",
	"len(wait([ThreadPoolExecutor().submit(square, 1)], timeout=1).done)":                                              "1",
	"repr(ThreadPoolExecutor().submit(fail).exception())":                                                              "ValueError('no')",
	"raised(ThreadPoolExecutor().submit(fail).result)":                                                                 "ValueError",
	"ThreadPoolExecutor().submit(square, 2).cancel()":                                                                  "False",
	"called(lambda seen: ThreadPoolExecutor().submit(square, 2).add_done_callback(lambda f: seen.append(f.result())))": "[4]",
	"raised(lambda: ThreadPoolExecutor().submit(time.sleep, 100).result(timeout=1))":                                   "TimeoutError",
	"ThreadPoolExecutor(thread_name_prefix='x').submit(name).result()":                                                 "x_0",
	"ProcessPoolExecutor(2).submit(square, 4).result()":                                                                "16",
	"raised(ProcessPoolExecutor().submit(os._exit, 1).result)":                                                         "BrokenProcessPool",
	"run(threading.Thread, square, 1)":                                                                                 "(False, None)",
	"called(lambda seen: run(threading.Thread, seen.append, 1))":                                                       "[1]",
	"called(lambda seen: threading.Thread(target=seen.append, args=(1,)).start())":                                     "[1]",
	"run(threading.Thread, fail)":                                                                                      "(False, None)",
	"called(lambda seen: run(threading.Thread, lambda: seen.append(threading.current_thread().daemon)))":               "[False]",
	"run(multiprocessing.Process, square, 1)":                                                                          "(False, 0)",
	"run(multiprocessing.Process, fail)":                                                                               "(False, 1)",
	"run(multiprocessing.Process, os._exit, 3)":                                                                        "(False, 3)",
	"run(multiprocessing.Process, sys.exit, 'bye')":                                                                    "(False, 1)",
	"run(multiprocessing.get_context('spawn').Process, time.sleep, 100, timeout=1)":                                    "(True, None)",
	"killed()":                                   "(True, False, -9)",
	"through(multiprocessing.Queue())":           "7",
	"through(multiprocessing.Manager().Queue())": "7",
	"called(lambda seen: run(multiprocessing.Process, multiprocessing.Manager().list([1]).append, 2))": "[]",
	"piped()": "(True, [1], False)",
	"multiprocessing.Pool(2).map(square, [1, 2])":                                          "[1, 4]",
	"multiprocessing.Pool(2).starmap(pow, [(2, 3)])":                                       "[8]",
	"list(multiprocessing.Pool(2).imap_unordered(square, [3]))":                            "[9]",
	"multiprocessing.Pool(2).apply_async(square, (5,)).get(timeout=1)":                     "25",
	"raised(multiprocessing.Pool(2).apply_async(fail).get)":                                "ValueError",
	"raised(lambda: multiprocessing.Pool(2).apply_async(time.sleep, (9,)).get(timeout=1))": "TimeoutError",
	"multiprocessing.dummy.Pool(3).map(str, [1])":                                          "['1']",
	"multiprocessing.pool.ThreadPool(2).apply(max, (1, 2))":                                "2",
	"raised(lambda: queue.Queue().get(timeout=2))":                                         "Empty",
	"raised(queue.SimpleQueue().get_nowait)":                                               "Empty",
	"raised(lambda: full().put(1, timeout=1))":                                             "Full",
	"held(threading.Lock()).acquire(timeout=1)":                                            "False",
	"held(threading.RLock()).acquire(timeout=1)":                                           "True",
	"held(threading.Semaphore(1)).acquire(timeout=1)":                                      "False",
	"threading.Event().wait(3)":                                                            "False",
	"raised(lambda: threading.Barrier(2).wait(1))":                                         "BrokenBarrierError",
	"met()":         "[0, 1]",
	"worked(False)": "[2, 4]",
	"worked(True)":  "[2, 4]",
	"fired(3, 1)":   "[]",
	"fired(3, 5)":   "['fired']",
	"local()":       "[False, True]",
	"alarmed(1, 5)": "alarm",
	"alarmed(5, 1)": "None",
	"asyncio.run(asyncio.to_thread(square, 2))":                      "4",
	"asyncio.run(asyncio.wait_for(asyncio.to_thread(square, 2), 1))": "4",
	"asyncio.run(nested())":                                          "9",
	"raised(lambda: asyncio.run(asyncio.to_thread(fail)))":           "ValueError",
	"deep()": "[20000]",
}

const inPlaceSetup = `
import asyncio, multiprocessing, multiprocessing.dummy, multiprocessing.pool, os, queue, signal, sys, threading, time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor, as_completed, wait

def square(x): return x * x
def fail(): raise ValueError("no")
def name(): return threading.current_thread().name

def raised(function):
    try:
        return function()
    except Exception as e:
        return type(e).__name__

def called(function):
    seen = []
    function(seen)
    return seen

def run(kind, function, *args, timeout=5):
    t = kind(target=function, args=args)
    t.start()
    t.join(timeout)
    return t.is_alive(), getattr(t, "exitcode", None)

def killed():
    p = multiprocessing.Process(target=time.sleep, args=(100,))
    p.start()
    p.join(1)
    alive = p.is_alive()
    p.kill()
    p.join()
    return alive, p.is_alive(), p.exitcode

def through(q):
    p = multiprocessing.Process(target=lambda q: q.put(7), args=(q,))
    p.start()
    p.join()
    return q.get(timeout=1)

def piped():
    a, b = multiprocessing.Pipe()
    p = multiprocessing.Process(target=lambda c: c.send([1]), args=(b,))
    p.start()
    return a.poll(1), a.recv(), a.poll(1)

def full():
    q = queue.Queue(1)
    q.put(1)
    return q

def held(lock):
    lock.acquire()
    return lock

def met():
    barrier, seen = threading.Barrier(2), []
    ts = [threading.Thread(target=lambda: seen.append(barrier.wait())) for _ in range(2)]
    for t in ts: t.start()
    for t in ts: t.join()
    return sorted(seen)

def worked(daemon):
    q, out = queue.Queue(), []
    def work():
        while True:
            x = q.get()
            if x is None: return
            out.append(2 * x)
            q.task_done()
    t = threading.Thread(target=work, daemon=daemon)
    t.start()
    q.put(1)
    q.put(2)
    if daemon:
        q.join()
    else:
        q.put(None)
        t.join()
    return out

def fired(after, slept):
    seen = []
    t = threading.Timer(after, seen.append, ["fired"])
    t.start()
    time.sleep(slept)
    t.cancel()
    t.join()
    return seen

def local():
    values, seen = threading.local(), []
    values.x = 1
    run(threading.Thread, lambda: seen.append(hasattr(values, "x")))
    return [*seen, hasattr(values, "x")]

def alarmed(after, slept):
    def alarm(*_): raise TimeoutError("alarm")
    signal.signal(signal.SIGALRM, alarm)
    signal.alarm(after)
    try:
        time.sleep(slept)
    except TimeoutError as e:
        return str(e)
    finally:
        signal.alarm(0)

async def nested():
    return ThreadPoolExecutor().submit(asyncio.run, asyncio.to_thread(square, 3)).result()

def deep():
    sys.setrecursionlimit(10**6)
    threading.stack_size(1 << 27)
    def down(n): return 0 if n == 0 else 1 + down(n - 1)
    return called(lambda seen: run(threading.Thread, lambda: seen.append(down(20000))))
`

// Promise: threads, processes, pools, queues and locks of Python run in place
// and give what they give natively; waits with a time-out end without time
// passing; and it is the same every time.
func TestThreadsRunInPlace(t *testing.T) {
	var text strings.Builder
	text.WriteString(inPlaceSetup + "def reward(messages, i):\n")
	var order []string
	for code := range inPlace {
		fmt.Fprintf(&text, "    if i == %d: return {'score': 1, 'reason': str(%s)}\n", len(order), code)
		order = append(order, code)
	}
	m, err := loadScript(t, oneWorker(t), "reward.py", text.String())
	require.NoError(t, err)
	for i, code := range order {
		e := m.Evaluate(context.Background(), answeredRow("4", i))
		require.Equal(t, reward.Scored, e.Outcome, "%s: %s", code, e.Reason)
		require.Equal(t, inPlace[code], e.Result.Reason, code)
		again := m.Evaluate(context.Background(), answeredRow("4", i))
		require.Equal(t, e.Fuel, again.Fuel, code)
	}
}

// Promise: a thread's exception is in the log, as Python writes it.
func TestThreadsLogTheirExceptions(t *testing.T) {
	e := evaluates(t, "import threading\ndef fail(): raise ValueError('no')\ndef reward(messages):\n  threading.Thread(target=fail).start()\n  return 1\n")
	require.Equal(t, reward.Scored, e.Outcome, e.Reason)
	require.Contains(t, e.Log, "Exception in thread Thread-")
	require.Contains(t, e.Log, "ValueError: no")
}

// Promise: a wait that nothing can end is a failure that says so, also where the
// reward catches it; nothing waits for ever.
func TestWaitsWithoutAnEndFail(t *testing.T) {
	for _, code := range []string{
		"queue.Queue().get()", "queue.SimpleQueue().get()", "threading.Event().wait()", "l.acquire(); l.acquire()", "threading.Barrier(2).wait()",
		"multiprocessing.Queue().get()", "multiprocessing.Pipe()[0].recv()", "asyncio.run(asyncio.Event().wait())",
		"t = threading.Thread(target=threading.Event().wait); t.start(); t.join()", "ThreadPoolExecutor().submit(queue.Queue().get).result()",
		"q = queue.Queue(); q.put(1); q.join()",
	} {
		e := evaluates(t, "import asyncio, multiprocessing, queue, threading\nfrom concurrent.futures import ThreadPoolExecutor\n"+
			"l = threading.Lock()\ndef reward(messages):\n  try:\n    "+code+"\n  except Exception: pass\n  return 1\n")
		require.Equal(t, reward.GuestError, e.Outcome, code)
		require.Contains(t, e.Reason, "wait", code)
	}
}

// Promise: a whole program that runs its main function in a thread with a large
// stack, as solutions of programming contests do, passes its tests.
func TestProgramsWithThreads(t *testing.T) {
	const text = `
from merit_reward import code
PROGRAMS = [
"""import sys, threading
sys.setrecursionlimit(10**6)
threading.stack_size(1 << 27)
def main():
    def down(n): return 0 if n == 0 else 1 + down(n - 1)
    print(down(int(input())))
t = threading.Thread(target=main)
t.start()
t.join()
""",
"""import threading
threading.Thread(target=lambda: print(int(input()))).start()
""",
"""import threading, time
def main():
    time.sleep(1)
    print(int(input()))
threading.Thread(target=main).start()
""",
"""from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor() as e: print(sum(e.map(int, [input()])))
""",
"""import multiprocessing
if __name__ == "__main__":
    with multiprocessing.Pool(2) as p: print(p.map(int, [input()])[0])
""",
]
def reward(messages):
    verdicts = [code.run(p, [{"input": "500", "output": "500"}]).tests[0].verdict for p in PROGRAMS]
    return {"score": verdicts.count("passed"), "reason": str(verdicts)}
`
	e := evaluates(t, text)
	require.Equal(t, reward.Scored, e.Outcome, e.Reason)
	require.Equal(t, 5.0, e.Result.Score, e.Result.Reason)
}
