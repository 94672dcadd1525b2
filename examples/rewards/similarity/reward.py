"""How near is the answer to a reference text? ROUGE, BLEU or chrF, from 0 to 1, with the numbers of rouge-score and sacrebleu.

The ground truth is a text, or a list of texts of which the nearest counts.

Parameters, by ``--with``, ``with:`` or a column of the same name:

``measure``  ``rouge1``, ``rouge2`` … ``rouge9`` (n-grams of words), ``rougeL`` (longest common subsequence; the default),
             ``bleu`` (sentence BLEU, smoothed), ``chrf`` (n-grams of characters)
``value``    of ROUGE: ``f`` (default), ``precision`` or ``recall``
``after``    a text: only what stands behind its last occurrence in the answer is compared; without it there, nothing is
"""

from __future__ import annotations

import math
import re
from collections import Counter

from merit_reward import EvaluateResult, Message, reward_function

__merit__ = {"name": "similarity"}

WORD = re.compile(r"[a-z0-9]+")


@reward_function
def reward(
    messages: list[Message],
    ground_truth: str | list[str] | None = None,
    *,
    measure: str = "rougeL",
    value: str = "f",
    after: str = "",
) -> EvaluateResult:
    """The similarity to the nearest reference; invalid where there is none, or no answer."""
    references = [ground_truth] if isinstance(ground_truth, str) else ground_truth
    if not isinstance(references, list) or not references or not all(isinstance(r, str) for r in references):
        return EvaluateResult(is_score_valid=False, reason="the ground truth is no text and no list of texts")
    answer = next((m.text for m in reversed(messages) if m["role"] == "assistant"), None)
    if answer is None:
        return EvaluateResult(is_score_valid=False, reason="the conversation holds no message of the assistant")
    if measure.startswith("rouge"):
        references = [r for r in references if WORD.search(r.lower())]
        if not references:
            return EvaluateResult(is_score_valid=False, reason="ROUGE counts words of a to z and 0 to 9, and the ground truth has none: use chrf")
    if after:
        answer = answer.rpartition(after)[2] if after in answer else ""
    return EvaluateResult(score=max(compare(answer, r, measure, value) for r in references))


def compare(answer: str, reference: str, measure: str = "rougeL", value: str = "f") -> float:
    """The similarity of two texts, from 0 to 1."""
    if measure == "bleu":
        return bleu(answer, reference)
    if measure == "chrf":
        return chrf(answer, reference)
    if measure != "rougeL" and not re.fullmatch("rouge[1-9]", measure):
        raise ValueError(f"measure is {measure!r}; it is one of rouge1 … rouge9, rougeL, bleu, chrf")
    if value not in ("f", "precision", "recall"):
        raise ValueError(f"value is {value!r}; it is one of f, precision, recall")
    said, wanted = WORD.findall(answer.lower()), WORD.findall(reference.lower())
    if measure == "rougeL":
        common, of_said, of_wanted = subsequence(said, wanted), len(said), len(wanted)
    else:
        a, b = ngrams(said, int(measure[5:])), ngrams(wanted, int(measure[5:]))
        common, of_said, of_wanted = overlap(a, b), sum(a.values()), sum(b.values())
    precision, recall = common / max(of_said, 1), common / max(of_wanted, 1)
    if value != "f":
        return precision if value == "precision" else recall
    return 2 * precision * recall / (precision + recall) if common else 0.0


def ngrams(items: "list[str] | str", n: int) -> "Counter[object]":
    """How often each run of n items is there."""
    return Counter(zip(*(items[i:] for i in range(n))))


def overlap(a: "Counter[object]", b: "Counter[object]") -> int:
    """How many n-grams two texts share, each as often as in the one that has it less often."""
    return sum(min(count, b[key]) for key, count in a.items() if key in b)


def subsequence(a: list[str], b: list[str]) -> int:
    """How long the longest common subsequence is.

    One row of the table is the bits of one integer (Hyyrö 2004), so that a step costs words of memory and not cells.
    """
    places: dict[str, int] = {}
    for i, word in enumerate(b):
        places[word] = places.get(word, 0) | 1 << i
    everything = (1 << len(b)) - 1
    row = everything
    for word in a:
        if word in places:
            match = row & places[word]
            row = row + match & everything | row - match
    return len(b) - bin(row).count("1")


def bleu(answer: str, reference: str) -> float:
    """sacrebleu's sentence BLEU: 4-grams, 13a tokens, exponential smoothing, effective order."""
    said, wanted = tokens_13a(answer), tokens_13a(reference)
    logs, halves = [], 1.0
    for n in range(1, 5):
        a, b = ngrams(said, n), ngrams(wanted, n)
        total, right = sum(a.values()), overlap(a, b)
        if n == 1 and not right:
            return 0.0
        if not total:
            break
        if not right:
            halves *= 2
        logs.append(math.log((right or 1 / halves) / total))
    brevity = min(0.0, 1 - len(wanted) / len(said))
    return math.exp(brevity + sum(logs) / len(logs))


SPLITS = (
    (re.compile(r"([\{-\~\[-\` -\&\(-\+\:-\@\/])"), r" \1 "),
    (re.compile(r"([^0-9])([\.,])"), r"\1 \2 "),
    (re.compile(r"([\.,])([^0-9])"), r" \1 \2"),
    (re.compile(r"([0-9])(-)"), r"\1 \2 "),
)


def tokens_13a(text: str) -> list[str]:
    """Words and punctuation as mteval-v13a and the WMT tasks split them."""
    text = text.rstrip().replace("<skipped>", "").replace("-\n", "").replace("\n", " ")
    for name, sign in (("&quot;", '"'), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">")):
        text = text.replace(name, sign)
    text = f" {text} "
    for pattern, replacement in SPLITS:
        text = pattern.sub(replacement, text)
    return text.split()


def chrf(answer: str, reference: str) -> float:
    """sacrebleu's chrF2: 1- to 6-grams of characters without white space, recall counting twice."""
    said, wanted = "".join(answer.split()), "".join(reference.split())
    precision = recall = orders = 0.0
    for n in range(1, 7):
        if len(said) < n or len(wanted) < n:
            break
        shared = overlap(ngrams(said, n), ngrams(wanted, n))
        precision, recall, orders = precision + shared / (len(said) - n + 1), recall + shared / (len(wanted) - n + 1), orders + 1
    if not precision + recall:
        return 0.0
    precision, recall = precision / orders, recall / orders
    return 5 * precision * recall / (4 * precision + recall)
