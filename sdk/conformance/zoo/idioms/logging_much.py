import logging
import os
import sys

logging.basicConfig(level=logging.DEBUG, format="%(asctime)s %(message)s")
logger = logging.getLogger(__name__)
try:
    sys.stdout.reconfigure(encoding="utf-8", line_buffering=True)
except AttributeError:
    pass


def chatty(completions, answer, **kwargs):
    """Prints far more than any log keeps; LOCAL_RANK decides as in torchrun."""
    if int(os.environ.get("LOCAL_RANK", 0)) == 0:
        print("=" * 70_000)
        sys.stdout.buffer.write("größer\n".encode())
        sys.stdout.flush()
        logger.warning("scored %d", len(completions))
        sys.stderr.write("x" * 1000 + "\n")
    return [float(a in c[0]["content"]) for c, a in zip(completions, answer)]
