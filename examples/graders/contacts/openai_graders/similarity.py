"""The metrics of text_similarity graders, from 0 to 1, without packages.

``fuzzy_match`` has the numbers of rapidfuzz's WRatio, ``bleu`` those of sacrebleu's
sentence BLEU, ``gleu`` those of nltk's sentence GLEU on the same tokens, and
``rouge`` those of rouge-score's F1.
"""

from __future__ import annotations

import math
import re
from collections import Counter

WORD = re.compile(r"[a-z0-9]+")
NOT_WORD = re.compile(r"\W")


def fuzzy_match(text, reference):
    """rapidfuzz's fuzz.WRatio of both texts in lower case, without punctuation, over 100."""
    # rapidfuzz lowers characters one by one, and Python makes two of the Turkish İ
    a, b = (NOT_WORD.sub(" ", t).strip().replace("İ", "i").lower() for t in (text, reference))
    if not a or not b:
        return 0.0
    longer = max(len(a), len(b)) / min(len(a), len(b))
    whole = ratio(a, b)
    if longer < 1.5:
        return max(whole, 0.95 * token_ratio(a, b))
    scale = 0.9 if longer <= 8 else 0.6
    return max(whole, scale * partial_ratio(a, b), 0.95 * scale * partial_token_ratio(a, b))


def ratio(a, b):
    """How much of both is their longest common subsequence."""
    return 2 * subsequence(a, b) / (len(a) + len(b)) if a or b else 1.0


def token_ratio(a, b):
    """The better of the ratio of sorted words, and of the sets of words."""
    ordered = ratio(*(" ".join(sorted(t.split())) for t in (a, b)))
    of_a, of_b = set(a.split()), set(b.split())
    both = len(" ".join(of_a & of_b))
    if both and (of_a <= of_b or of_b <= of_a):
        return 1.0
    only_a, only_b = (" ".join(sorted(only)) for only in (of_a - of_b, of_b - of_a))
    gap = 1 if both else 0
    with_a, with_b = both + gap + len(only_a), both + gap + len(only_b)
    distance = len(only_a) + len(only_b) - 2 * subsequence(only_a, only_b)
    found = 1 - distance / (with_a + with_b) if with_a + with_b else 1.0
    if both:
        found = max(found, 1 - (gap + len(only_a)) / (both + with_a), 1 - (gap + len(only_b)) / (both + with_b))
    return max(ordered, found)


def partial_token_ratio(a, b):
    """The better of the partial ratio of sorted words, and of the words that only one text has."""
    words_a, words_b = a.split(), b.split()
    if set(words_a) & set(words_b):
        return 1.0
    return max(partial_ratio(" ".join(sorted(x)), " ".join(sorted(y))) for x, y in ((words_a, words_b), (set(words_a), set(words_b))))


def partial_ratio(a, b):
    """The ratio of the shorter text to the part of the longer one that is most like it."""
    if len(a) == len(b):
        return max(_partial(a, b), _partial(b, a))
    return _partial(min(a, b, key=len), max(a, b, key=len))


def _partial(short, long):
    n, has = len(short), set(short)
    parts = [long[:i] for i in range(1, n) if long[i - 1] in has]
    parts += [long[i : i + n] for i in range(len(long) - n) if long[i + n - 1] in has]
    parts += [long[i:] for i in range(len(long) - n, len(long)) if long[i] in has]
    places = _places(short)
    best = 0.0
    for part in parts:
        if 2 * min(n, len(part)) > best * (n + len(part)):  # it can be better
            best = max(best, 2 * _common(places, n, part) / (n + len(part)))
    return best


def bleu(text, reference):
    """sacrebleu's sentence BLEU over 100: 4-grams, 13a tokens, exponential smoothing, effective order."""
    said, wanted = tokens_13a(text), tokens_13a(reference)
    logs, halves = [], 1.0
    for n in range(1, 5):
        a, b = ngrams(said, n), ngrams(wanted, n)
        total, right = sum(a.values()), sum((a & b).values())
        if n == 1 and not right:
            return 0.0
        if not total:
            break
        if not right:
            halves *= 2
        logs.append(math.log((right or 1 / halves) / total))
    return math.exp(min(0.0, 1 - len(wanted) / len(said)) + sum(logs) / len(logs))


def gleu(text, reference):
    """Google's BLEU: the share of common n-grams of 1 to 4 words, of the longer text's."""
    said, wanted = tokens_13a(text), tokens_13a(reference)
    a, b = (sum((ngrams(words, n) for n in range(1, 5)), Counter()) for words in (said, wanted))
    most = max(sum(a.values()), sum(b.values()))
    return sum((a & b).values()) / most if most else 0.0


def rouge(kind, text, reference):
    """rouge-score's F1 of n-grams of words (kind 1 to 5), or of the longest common subsequence (kind "l")."""
    said, wanted = WORD.findall(text.lower()), WORD.findall(reference.lower())
    if kind == "l":
        common, of_said, of_wanted = subsequence(said, wanted), len(said), len(wanted)
    else:
        a, b = ngrams(said, kind), ngrams(wanted, kind)
        common, of_said, of_wanted = sum((a & b).values()), sum(a.values()), sum(b.values())
    if not common:
        return 0.0
    precision, recall = common / of_said, common / of_wanted
    return 2 * precision * recall / (precision + recall)


def ngrams(items, n):
    return Counter(zip(*(items[i:] for i in range(n))))


def subsequence(a, b):
    """The length of the longest common subsequence of two sequences."""
    return _common(_places(b), len(b), a)


def _places(items):
    places = {}
    for i, item in enumerate(items):
        places[item] = places.get(item, 0) | 1 << i
    return places


def _common(places, length, other):
    """A row of the table is the bits of one integer (Hyyrö 2004)."""
    row = everything = (1 << length) - 1
    for item in other:
        if item in places:
            match = row & places[item]
            row = row + match & everything | row - match
    return length - row.bit_count()


SPLITS = (
    (re.compile(r"([\{-\~\[-\` -\&\(-\+\:-\@\/])"), r" \1 "),
    (re.compile(r"([^0-9])([\.,])"), r"\1 \2 "),
    (re.compile(r"([\.,])([^0-9])"), r" \1 \2"),
    (re.compile(r"([0-9])(-)"), r"\1 \2 "),
)


def tokens_13a(text):
    """Words and punctuation as mteval-v13a and the WMT tasks split them."""
    text = text.rstrip().replace("<skipped>", "").replace("-\n", "").replace("\n", " ")
    for name, sign in (("&quot;", '"'), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">")):
        text = text.replace(name, sign)
    text = f" {text} "
    for pattern, replacement in SPLITS:
        text = pattern.sub(replacement, text)
    return text.split()
