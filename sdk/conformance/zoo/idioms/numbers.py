import re
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from statistics import fmean, pstdev


def exact(text):
    try:
        return Fraction(text.replace(",", ""))
    except (ValueError, ZeroDivisionError):
        return None


def numeric(completions, answer, **kwargs):
    out = []
    for c, a in zip(completions, answer):
        found = [exact(x) for x in re.findall(r"-?\d[\d,]*\.?\d*(?:/\d+)?", c[0]["content"])]
        found = [x for x in found if x is not None]
        want = exact(a)
        hit = float(want in found) if want is not None else 0.0
        try:
            rounded = Decimal(str(a)).quantize(Decimal("0.1"))
        except InvalidOperation:
            rounded = Decimal(0)
        values = [float(x) for x in found] or [0.0]
        out.append(hit + float(rounded) / 1e6 + fmean(values) / 1e9 + pstdev(values) / 1e9)
    return out
