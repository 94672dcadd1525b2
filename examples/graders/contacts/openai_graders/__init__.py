"""What OpenAI's graders do, for a reward that merit reward import made of one.

``Row`` is what a grader sees of a row: the sample and the item of its templates.
``graded`` runs graders and combines their scores. If the answer lacks what a grader
reads, such as a field of ``sample.output_json``, that grader's score is 0, with a
reason. If the data lacks it, the row has no valid score, and if a grader raises an
error, its evaluation has failed.
"""

from __future__ import annotations

import json
import math
import re

from merit_reward import EvaluateResult, MetricResult

TEMPLATE = re.compile(r"\{\{\s*(item|sample)((?:\.[^\s.\[\]{}]+|\[\d+\]|\['[^']*'\]|\[\"[^\"]*\"\])+)\s*\}\}")
PART = re.compile(r"\.([^\s.\[\]{}]+)|\[(\d+)\]|\['([^']*)'\]|\[\"([^\"]*)\"\]")


class MissingError(ValueError):
    """The data has no value for a variable of a template."""


class AbsentError(MissingError):
    """The answer has no value for a variable of a template, which its grader scores with 0."""


class Row:
    """The namespaces of a template: ``sample`` is the answer, ``item`` the columns of the row."""

    def __init__(self, sample, item):
        inner = item.get("item")  # a file of an eval has its columns in an object
        self.sample, self.item = sample, inner if isinstance(inner, dict) else item

    def text(self, template):
        """The template with its variables replaced: texts unchanged, other values as JSON."""
        return TEMPLATE.sub(lambda found: shown(self.value(found[1], found[2])), template)

    def value(self, namespace, path):
        """The value at a path such as ``.output_tools[0].function.name``."""
        value, at = getattr(self, namespace), namespace
        for name, index, *quoted in PART.findall(path):
            key = int(index) if index else name or "".join(quoted)
            at += f"[{index}]" if index else f".{key}"
            if isinstance(value, list) and isinstance(key, int) and key < len(value) or isinstance(value, dict) and key in value:
                value = value[key]
            else:
                value = None
            if value is None:
                if namespace == "sample":
                    raise AbsentError(f"the answer has no {at.removeprefix('sample.')}")
                raise MissingError(f"the row has no {at}, which the grader reads")
        return value


def shown(value):
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def string_check(operation, text, reference):
    """1 if the text equals the reference (eq), does not (ne), or contains it (like; ilike in any case), else 0."""
    if operation == "eq":
        return float(text == reference)
    if operation == "ne":
        return float(text != reference)
    if operation == "like":
        return float(reference in text)
    return float(reference.lower() in text.lower())


def python(function, row):
    """What grade(sample, item) returns, which must be a finite number."""
    score = function(row.sample, row.item)
    if not isinstance(score, (int, float)) and not hasattr(score, "__float__") or not math.isfinite(score):
        raise ValueError(f"{function.__name__} returned {score!r}, which is not a finite number")
    return float(score)


def graded(graders, combine, sample, item):
    """The result of graders, each a function of a Row that returns a score, or a score and a reason."""
    row, scores, metrics = Row(sample, item), {}, {}
    for name, grader in graders.items():
        try:
            said = grader(row)
        except AbsentError as e:
            said = 0.0, str(e)
        except MissingError as e:
            return EvaluateResult(is_score_valid=False, reason=str(e))
        score, reason = said if isinstance(said, tuple) else (said, "")
        scores[name], metrics[name] = score, MetricResult(score=score, is_score_valid=True, reason=reason)
    score = combine(scores)
    if not math.isfinite(score):
        raise ValueError(f"the formula has no finite value for {scores}")
    reason = "; ".join(f"{name}: {m.reason}" if len(metrics) > 1 else m.reason for name, m in metrics.items() if m.reason)
    return EvaluateResult(score=score, reason=reason, metrics=metrics if len(metrics) > 1 else {})


def power(base, exponent):
    return math.pow(base, exponent)  # ** would return a complex number for a root of a negative one
