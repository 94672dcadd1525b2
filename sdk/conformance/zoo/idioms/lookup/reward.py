"""Opens a file beside the reward, by its own path and by a relative one."""
import os

from words import weight

HERE = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(HERE, "words.txt"), encoding="utf-8") as f:
    WORDS = {line.strip() for line in f}


def known_words(completions, **kwargs):
    with open("words.txt", encoding="utf-8") as f:
        n = len(f.readlines())
    return [weight * sum(w.strip(".,").lower() in WORDS for w in c[0]["content"].split()) + n for c in completions]
