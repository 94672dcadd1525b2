"""Does the answer repeat itself? Repeated n-grams, what zlib saves, or repeated lines, as a penalty from 0 down.

Parameters, by ``--with``, ``with:`` or a column of the same name:

``measure``  ``ngrams`` (default): the share of n-grams of words that stood before;
             ``compression``: how far zlib compresses the text below ``usual`` of its size;
             ``lines``: the share of characters in lines that stood before
``size``     of the n-grams, 3
``usual``    the ratio of compressed to plain size at which the penalty begins, 0.35
``least``    how many characters a line needs to count, 8
``penalty``  for a text that only repeats itself, -1
``of``       ``last``, the last message of the assistant (default), or ``all`` of its messages together
"""

from __future__ import annotations

import zlib

from merit_reward import EvaluateResult, Message, reward_function

__merit__ = {"name": "repetition"}


@reward_function
def reward(
    messages: list[Message],
    *,
    measure: str = "ngrams",
    size: int = 3,
    usual: float = 0.35,
    least: int = 8,
    penalty: float = -1.0,
    of: str = "last",
) -> EvaluateResult:
    """The penalty times the share of the answer that is repetition; invalid where there is no answer."""
    texts = [m.text for m in messages if m["role"] == "assistant"]
    if not texts:
        return EvaluateResult(is_score_valid=False, reason="the conversation holds no message of the assistant")
    if of not in ("last", "all"):
        raise ValueError(f"of is {of!r}; it is one of last, all")
    if penalty > 0:
        raise ValueError(f"the penalty is {penalty}; it must not be above 0")
    text = "\n".join(texts) if of == "all" else texts[-1]
    if measure == "ngrams":
        share, metrics = repeated_ngrams(text, size), {}
    elif measure == "compression":
        share, metrics = compressed(text, usual)
    elif measure == "lines":
        share, metrics = repeated_lines(text, least)
    else:
        raise ValueError(f"measure is {measure!r}; it is one of ngrams, compression, lines")
    return EvaluateResult(score=penalty * share if share else 0.0, metrics={"share": share, **metrics})


def repeated_ngrams(text: str, size: int) -> float:
    """1 - unique / all n-grams of lower-case words: appendix C.2 of arXiv 2502.03373, as in open-r1."""
    if size < 1:
        raise ValueError(f"size is {size}; it must be at least 1")
    words = text.lower().split()
    total = len(words) - size + 1
    return 1 - len(set(zip(*(words[i:] for i in range(size))))) / total if total > 0 else 0.0


def compressed(text: str, usual: float) -> tuple[float, dict[str, float]]:
    """How far the compressed size is below what is usual, from 0 to 1; and the ratio."""
    if not 0 < usual <= 1:
        raise ValueError(f"usual is {usual}; it must be above 0 and at most 1")
    data = text.encode()
    ratio = len(zlib.compress(data, 9)) / len(data) if data else 1.0
    return max(0.0, 1 - ratio / usual), {"ratio": ratio}


def repeated_lines(text: str, least: int) -> tuple[float, dict[str, float]]:
    """The share of characters in lines that stood before; and how long the longest of these lines is."""
    seen: set[str] = set()
    total = again = longest = 0
    for line in map(str.strip, text.splitlines()):
        if len(line) < least:
            continue
        total += len(line)
        if line in seen:
            again, longest = again + len(line), max(longest, len(line))
        seen.add(line)
    return again / total if total else 0.0, {"longest": longest}
