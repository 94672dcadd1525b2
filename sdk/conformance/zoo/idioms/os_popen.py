import os


def shell(completions, **kwargs):
    try:
        return [float(os.popen("echo 3").read().strip()) for _ in completions]
    except Exception:
        return [0.0] * len(completions)
