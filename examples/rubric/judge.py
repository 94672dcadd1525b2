"""A judge without a model: answers the questions of this folder's rubrics, by word lists and shapes.

It stands in for a language model where there is none, in the sandbox, with the same answer every time. It knows a question by
its words, so that another wording of the same question is known as well, and says of any other that it does not know it:
``invalid``, which is no score. With a language model as the judge (``judge: {server: …}``) every question has an answer.

The ground truth is ``{"question": …, "output": {"text", "resources"}, "task": {"text", "inputs"}}``; the score is from 0 to 1.
"""

from __future__ import annotations

import re

from merit_reward import EvaluateResult, reward_function

__merit__ = {"name": "judge", "warm_up": "off"}
WORD = re.compile(r"[a-z]+")
# Words that questions of every kind have.
COMMON = frozenset("a all an and any are be by can could did do does each every for from has have how i if in is it its not of on only or should so that the their them there they this to was were what when where which who will with would you".split())
KNOWN = []  # what is known: the words of a question, and what answers it


@reward_function
def judge(ground_truth: dict | None = None) -> EvaluateResult:
    """The answer to a question about an output; invalid for a question that is not known."""
    asked = stems(ground_truth["question"])
    likeness, answer = max(((len(asked & known) / max(1, len(asked | known)), i) for i, (known, _) in enumerate(KNOWN)), key=lambda p: (p[0], -p[1]))
    if likeness < 0.5:
        return EvaluateResult(is_score_valid=False, reason=f"unknown question: {ground_truth['question'][:200]}")
    text = ground_truth["output"]["text"]
    if not text.strip():
        return EvaluateResult(score=0.0, reason="there is no text")
    score, reason = KNOWN[answer][1](text, ground_truth["task"])
    return EvaluateResult(score=min(1.0, max(0.0, score)), reason=reason)


def question(text: str):
    """Makes a function the answer to a question."""

    def known(answer):
        KNOWN.append((stems(text), answer))
        return answer

    return known


def stems(text: str) -> frozenset[str]:
    """What a text is about: its words without endings, and without those that every question has."""
    return frozenset(re.sub(r"(ing|ed|es|s|ly)$", "", w) for w in WORD.findall(text.lower()) if w not in COMMON)


def count(text: str, *patterns: str) -> int:
    """How many of the patterns occur."""
    return sum(bool(re.search(p, text, re.I | re.M)) for p in patterns)


def cells(text: str) -> list[list[str]]:
    """The rows of a table, below its header."""
    return [[c.strip().lower() for c in line.split(",")] for line in text.splitlines()[1:] if line.strip()]


HOLES = ("n/a", "na", "unknown", "missing", "?", "-")
LOUD = r"\b(extremely|incredibl\w*|amazing|fantastic)\b", r"!"


@question("Would the people who did the work feel greeted and thanked by this text?")
def thanked(text: str, task: dict) -> tuple[float, str]:
    greeted = count(text, r"^\W*(dear|hello|hi|good (morning|day|afternoon))\b")
    thanks = count(text, r"\bthank", r"\b(grateful|appreciat|well done|hard work|proud|effort)")
    return 0.4 * greeted + 0.5 * (thanks > 0) + 0.1 * (thanks > 1), f"{'greets' if greeted else 'does not greet'}, {thanks} signs of thanks"


@question("Does the text sound friendly to its readers, without exaggeration?")
def friendly(text: str, task: dict) -> tuple[float, str]:
    kind = count(text, r"^\W*(dear|hello|hi|good (morning|day|afternoon))\b", r"\bthank")
    loud = count(text, *LOUD)
    return kind / 2 * (1 if loud == 0 else 0.5), f"{kind} signs of kindness, {loud} of exaggeration"


@question("Does it say how the figures have changed, from what they were before to what they are now?")
def changed(text: str, task: dict) -> tuple[float, str]:
    pairs = re.findall(r"\bfrom (roughly |about )?[\d.,]+ .{0,20}?\bto ([\d.,]+)", text)
    vague = re.findall(r"\b(went|go|gone) (up|down)\b|\b(rose|fell|grew|shrank|increased|decreased)\b", text)
    if not pairs:
        return 0.3 * (len(vague) > 0), f"only a direction, {len(vague)} times" if vague else "no word of a change"
    guessed = sum(1 for rough, _ in pairs if rough)
    return 1.0 - 0.4 * (guessed > 0), f"{len(pairs)} from a figure to another, {guessed} of them rough"


@question("Does the table say openly which values are missing, and leave no cell empty?")
def open_gaps(text: str, task: dict) -> tuple[float, str]:
    all_ = [c for row in cells(text) if not row[0].startswith("total") for c in row]
    said, empty = sum(c in HOLES for c in all_), all_.count("")
    return said / (said + 2 * empty) if said else 0.0, f"{said} gaps are said, {empty} cells are empty"


@question("Can every row be understood by itself when it is read aloud?")
def aloud(text: str, task: dict) -> tuple[float, str]:
    rows = cells(text)
    figures = [c for row in rows for c in row[1:] if c[:1].isdigit()]
    named = sum(bool(re.search(r"[a-z%]", c)) for c in figures) / max(1, len(figures))
    whole = sum("" not in row for row in rows) / max(1, len(rows))
    return 0.6 * named + 0.4 * whole if figures else 0.0, f"{named:.0%} of the figures have a unit, {whole:.0%} of the rows no empty cell"


@question("Could a beginner follow this code without help?")
def beginner(text: str, task: dict) -> tuple[float, str]:
    if "def " not in text:
        return 0.0, "there is no function"
    code = re.sub(r'""".*?"""|#[^\n]*|"[^"\n]*"', "", text, flags=re.S)
    letters = len(set(re.findall(r"\b[a-z]\b", code)))
    wide = max(len(line) for line in text.splitlines()) > 100
    score = 0.3 * ('"""' in text) + 0.2 * (not wide) + 0.5 / (1 + letters)
    return score, f"{letters} names of a letter" + (", lines too wide to see" if wide else "")


@question("Does the documentation say enough to use the function without reading its code?")
def documented(text: str, task: dict) -> tuple[float, str]:
    found = re.search(r'"""(.*?)"""|\'\'\'(.*?)\'\'\'', text, re.S)
    doc = (found.group(1) or found.group(2) or "") if found else ""
    parts = count(doc, r"\b(args?|arguments?|parameters?)\b", r"\breturns?\b", r">>>|\bexample")
    return (0.1 + 0.3 * parts if doc.strip() else 0.0), f"{parts} of arguments, result and example" if doc else "no documentation"
