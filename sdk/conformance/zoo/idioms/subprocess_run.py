import subprocess
import sys


def runs(completions, answer, **kwargs):
    out = []
    for c, a in zip(completions, answer):
        try:
            p = subprocess.run([sys.executable, "-c", f"print({a!r} in {c[0]['content']!r})"], capture_output=True, text=True, timeout=20)
            out.append(1.0 if p.stdout.strip() == "True" else 0.0)
        except Exception:
            out.append(0.0)
    return out
