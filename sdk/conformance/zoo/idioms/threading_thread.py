import threading


def with_timeout(f, args, seconds):
    box = []
    t = threading.Thread(target=lambda: box.append(f(*args)), daemon=True)
    t.start()
    t.join(seconds)
    if t.is_alive() or not box:
        raise TimeoutError
    return box[0]


lock = threading.Lock()
seen = threading.local()
done = threading.Event()


def threaded(completions, answer, **kwargs):
    out = []
    for c, a in zip(completions, answer):
        with lock:
            out.append(float(with_timeout(lambda t, x: x in t, (c[0]["content"], a), 2)))
    timer = threading.Timer(60, done.set)
    timer.start()
    timer.cancel()
    return out
