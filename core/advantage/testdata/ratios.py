"""Writes ratios.jsonl: ratios of Python's own difflib. Run: python3 ratios.py > ratios.jsonl

Covers empty and equal texts, few and many edits, repeats, code points beyond
the BMP, and b on both sides of 200 code points, where autojunk begins.
"""
import json
import random
from difflib import SequenceMatcher

rng = random.Random(20250510)


def word(alphabet, n):
    return "".join(rng.choice(alphabet) for _ in range(n))


def edited(text, alphabet, edits):
    out = list(text)
    for _ in range(edits):
        at = rng.randrange(len(out) + 1)
        kind = rng.randrange(3)
        if kind == 0:
            out.insert(at, rng.choice(alphabet))
        elif out and at < len(out):
            if kind == 1:
                del out[at]
            else:
                out[at] = rng.choice(alphabet)
    return "".join(out)


pairs = [("", ""), ("", "a"), ("a", ""), ("ab", "acab"), (" abcd", "abcd abcd"), ("tide", "diet"), ("diet", "tide"),
         ("x" * 250, "x" * 250), ("x" * 199, "x" * 199), ("x" * 250, "x" * 240), ("y" + "x" * 250, "x" * 250),
         ("ab" * 150, "ba" * 150), ("\U0001f600é漢", "é漢\U0001f600")]
for alphabet in ("ab", "abcdefgh", "abcdefghijklmnopqrstuvwxyz ", "#.$@ \n", "éü漢字\U0001f600 "):
    for n in (1, 5, 40, 120, 198, 199, 200, 201, 260):
        text = word(alphabet, n)
        for edits in (0, 1, 3, n // 4 + 1):
            pairs.append((text, edited(text, alphabet, edits)))
        pairs.append((text, word(alphabet, rng.randrange(1, 2 * n + 1))))

for a, b in pairs:
    print(json.dumps({"a": a, "b": b, "ratio": SequenceMatcher(None, a, b).ratio()}, ensure_ascii=False))
