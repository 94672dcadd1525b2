"""Writes answers in the shapes of MATH, each with its verdict known from how it is made.

    python generate.py OUT.jsonl

A shape gives a gold answer, texts that state the same, and texts that state something else. Its numbers come
from a generator with a fixed seed, so the file is always the same.
"""

from __future__ import annotations

import json
import random
import sys
from fractions import Fraction
from math import comb, factorial

R = random.Random(20261127)
ROUNDS = 20
# Shapes that are frequent in MATH are frequent here.
FREQUENT = {"integer": 300, "fraction": 120, "radical": 60, "point": 60, "decimal": 50, "quadratic": 40, "grouped": 40, "negative": 40, "pi": 40, "surd": 30, "cubic": 30, "degrees": 30}

SENTENCES = (
    "Therefore, the answer is $\\boxed{%s}$.", "\\boxed{%s}", "Thus we have \\[\\boxed{%s}.\\]", "Step 1: write it down.\n\nStep 2: simplify.\n\nThe final answer is: $\\boxed{%s}$",
    "Let me check the first 3 cases. They agree, so the result is \\(\\boxed{%s}\\).", "The final answer is $%s$.", "So the answer is $%s$. I hope it is correct.",
    "<think>Perhaps $\\boxed{999}$? No.</think>\nThe answer is $\\boxed{%s}$.", "**Answer:** $\\boxed{%s}$", "We get $\\boxed{%s}$, as required.",
)


def n(low: int = 2, high: int = 19) -> int:
    return R.randint(low, high)


def frac(q: Fraction, form: str = "\\frac{%d}{%d}") -> str:
    return str(q.numerator) if q.denominator == 1 else ("-" if q < 0 else "") + form % (abs(q.numerator), q.denominator)


def proper() -> Fraction:
    while (q := Fraction(n(1, 30), n(2, 31))).denominator == 1:
        pass
    return q


def term(c: int, x: str, first: bool = False) -> str:
    sign = "-" if c < 0 else "" if first else "+"
    return "" if c == 0 else f"{sign}{abs(c) if abs(c) != 1 or not x else ''}{x}"


def poly(*cs: int, x: str = "x") -> str:
    """A polynomial from its coefficients, the highest first."""
    text = ""
    for i, c in enumerate(cs):
        d = len(cs) - 1 - i
        text += term(c, "" if d == 0 else x if d == 1 else f"{x}^{d}" if d < 10 else f"{x}^{{{d}}}", not text)
    return text or "0"


def integer():
    a = n(-400, 9999)
    return str(a), [f"{a}", f"x = {a}", f"{a}.0", f"{a}\\text{{ units}}", f"{2 * a}/2" if a >= 0 else f"-{-2 * a}/2"], [f"{a + 1}", f"{a}1", f"{-a}" if a else "1"]


def grouped():
    a = n(1000, 9_999_999)
    return str(a), [f"{a:,}", f"{a:,}".replace(",", "{,}"), f"{a:,}".replace(",", "\\!,"), f"{a}"], [f"{a + 10:,}", f"{a // 10:,}"]


def fraction():
    q, k = proper(), n(2, 6)
    p, d = q.numerator, q.denominator
    return frac(q), [frac(q, "\\dfrac{%d}{%d}"), f"{p}/{d}", f"\\frac{{{p * k}}}{{{d * k}}}", f"\\frac{{-{p}}}{{-{d}}}", f"1-\\frac{{{d - p}}}{{{d}}}" if d > p else f"\\tfrac{{{p}}}{{{d}}}"], [
        f"\\frac{{{p + 1}}}{{{d}}}", f"-\\frac{{{p}}}{{{d}}}", f"\\frac{{{p}}}{{{d + 1}}}"]


def negative():
    q = proper()
    p, d = q.numerator, q.denominator
    return f"-\\frac{{{p}}}{{{d}}}", [f"\\frac{{-{p}}}{{{d}}}", f"\\frac{{{p}}}{{-{d}}}", f"-{p}/{d}"], [f"\\frac{{{p}}}{{{d}}}", f"-\\frac{{{d}}}{{{p}}}" if p != d else "0"]


def decimal():
    a, places = n(1, 9999), n(1, 3)
    q = Fraction(a, 10**places)
    text = f"{a / 10**places:.{places}f}"
    return text, [text + "0", frac(q), "x = " + text], [f"{(a + 1) / 10**places:.{places}f}", f"{a}{'1' if places == 1 else ''}", "-" + text]


def mixed():
    whole, q = n(1, 12), proper()
    q = Fraction(q.numerator % q.denominator or 1, q.denominator)
    q = q if q.denominator > 1 else Fraction(1, 2)
    all_of = whole + q
    return f"{whole}\\frac{{{q.numerator}}}{{{q.denominator}}}", [frac(all_of), f"{all_of.numerator}/{all_of.denominator}", f"{whole}+{frac(q)}"], [frac(whole * q) if whole * q != all_of else "0", f"{whole + 1}{frac(q)}"]


def percent():
    a = n(1, 99)
    return f"{a}\\%", [f"{a}\\%", f"{a}", f"{a}\\text{{ percent}}"], [f"{a + 1}\\%", f"{100 + a}"]


def radical():
    a, b = n(2, 9), R.choice([2, 3, 5, 6, 7, 10, 11])
    return f"{a}\\sqrt{{{b}}}", [f"\\sqrt{{{a * a * b}}}", f"\\frac{{{a * b}}}{{\\sqrt{{{b}}}}}", f"{a}\\cdot {b}^{{1/2}}", f"{a} \\sqrt {b}" if b < 10 else f"\\sqrt{{{b}}}\\cdot {a}"], [
        f"{a + 1}\\sqrt{{{b}}}", f"\\sqrt{{{a * b}}}", f"-{a}\\sqrt{{{b}}}"]


def surd():
    a, b, c, d = n(1, 9), n(1, 5), R.choice([2, 3, 5, 7]), n(2, 9)
    return f"\\frac{{{a}+{b}\\sqrt{{{c}}}}}{{{d}}}", [f"\\frac{{{b}\\sqrt{{{c}}}+{a}}}{{{d}}}", f"\\frac{{{a}}}{{{d}}}+\\frac{{\\sqrt{{{b * b * c}}}}}{{{d}}}", f"\\frac{{1}}{{{d}}}\\left({a}+{b}\\sqrt{c}\\right)"], [
        f"\\frac{{{a}-{b}\\sqrt{{{c}}}}}{{{d}}}", f"\\frac{{{a}+{b}\\sqrt{{{c}}}}}{{{d + 1}}}"]


def pi():
    q = proper()
    p, d = q.numerator, q.denominator
    return f"\\frac{{{p}\\pi}}{{{d}}}", [f"\\frac{{{p}}}{{{d}}}\\pi", f"{p}\\pi/{d}", f"\\dfrac{{{2 * p}\\pi}}{{{2 * d}}}"], [f"\\frac{{{p + 1}\\pi}}{{{d}}}", f"\\frac{{{p}}}{{{d}}}", f"\\frac{{{p}\\pi^2}}{{{d}}}"]


def power():
    b, e = R.choice([2, 3, 5, 7]), n(3, 9)
    return f"{b}^{{{2 * e}}}", [f"{b * b}^{{{e}}}", str(b ** (2 * e)), f"{b}^{{{e}}}\\cdot {b}^{{{e}}}"], [f"{b}^{{{2 * e + 1}}}", str(b ** (2 * e) + 1), f"{2 * e}^{{{b}}}"]


def scientific():
    a, e = n(11, 99), n(3, 8)
    return f"{a / 10} \\times 10^{{{e}}}", [f"{a / 10} \\cdot 10^{{{e}}}", str(a * 10 ** (e - 1)), f"{a}\\times 10^{{{e - 1}}}"], [f"{a / 10} \\times 10^{{{e + 1}}}", f"{(a + 1) / 10} \\times 10^{{{e}}}"]


def binomial():
    a = n(5, 12)
    b = n(2, a - 2)
    return f"\\binom{{{a}}}{{{b}}}", [str(comb(a, b)), f"\\binom{{{a}}}{{{a - b}}}", f"\\frac{{{a}!}}{{{b}!{a - b}!}}", f"{{{a} \\choose {b}}}"], [str(comb(a, b) + 1), f"\\binom{{{a + 1}}}{{{b}}}"]


def factorials():
    a = n(4, 10)
    return f"{a}!", [str(factorial(a)), f"{a}\\cdot {a - 1}!"], [f"{a - 1}!", str(factorial(a) // 2)]


def quadratic():
    a, b = n(-9, 9), n(-9, 9)
    factored = f"({poly(1, -a)})({poly(1, -b)})"
    return poly(1, -a - b, a * b), [factored, f"({poly(1, -b)})({poly(1, -a)})", poly(1, -a - b, a * b).replace("x^2", "x^{2}")], [poly(1, -a - b, a * b + 1), f"({poly(1, -a)})({poly(1, -b - 1)})", poly(1, a + b + 1, a * b)]


def factoring():
    a, b, c = n(2, 7), n(1, 9), n(1, 9)
    b += b == a * c
    return f"({a}x+{b})(x-{c})", [poly(a, b - a * c, -b * c), f"(x-{c})({a}x+{b})", f"-({a}x+{b})({c}-x)"], [f"({a}x-{b})(x+{c})", poly(a, b - a * c, b * c)]


def cubic():
    c = [n(1, 9), n(-9, 9), n(-9, 9), n(1, 9)]
    shuffled = f"{c[3]}{term(c[2], 'x')}{term(c[1], 'x^2')}{term(c[0], 'x^3')}"
    return poly(*c), [shuffled, f"f(x) = {poly(*c)}", poly(*c).replace("x^3", "x^{3}")], [poly(c[0] + 1, *c[1:]), poly(*c[:3], -c[3])]


def rational():
    a, b = n(1, 9), n(2, 9)
    return f"\\frac{{{a}}}{{x-{b}}}", [f"\\frac{{-{a}}}{{{b}-x}}", f"{a}/(x-{b})", f"\\frac{{{2 * a}}}{{2x-{2 * b}}}"], [f"\\frac{{{a}}}{{{b}-x}}", f"\\frac{{{a}}}{{x}}-{b}"]


def two_variables():
    a, b = n(2, 9), n(2, 9)
    return f"{a}a^2b-{b}ab^2", [f"ab({a}a-{b}b)", f"-{b}ab^2+{a}a^2b", f"{a}ba^2 - {b}b^2a"], [f"ab({b}a-{a}b)" if a != b else "ab", f"{a}a^2b+{b}ab^2"]


def line():
    m, b = n(2, 9), n(1, 9)
    return f"y = {m}x + {b}", [f"y={b}+{m}x", f"{m}x - y + {b} = 0", f"y - {b} = {m}x"], [f"y = {m}x - {b}", f"y = -{m}x + {b}"]


def circle():
    a, r = n(1, 9), n(2, 9)
    return f"(x-{a})^2+y^2={r * r}", [f"y^2+(x-{a})^2={r * r}", f"(x-{a})^2+y^2-{r * r}=0", f"x^2-{2 * a}x+{a * a}+y^2={r * r}"], [f"(x+{a})^2+y^2={r * r}", f"(x-{a})^2+y^2={r}"]


def point():
    a, b = n(-9, 9), n(-9, 9)
    b += a == b
    return f"({a},{b})", [f"({a}, {b})", f"\\left({a},{b}\\right)", f"(x,y)=({a},{b})", f"(\\frac{{{2 * a}}}{{2}}, {b})"], [f"({b},{a})", f"({a},{b + 1})", f"({a},{b},0)"]


def triple():
    q, a, b = proper(), n(1, 9), n(-9, -1)
    return f"\\left({frac(q)},{a},{b}\\right)", [f"({frac(q)}, {a}, {b})", f"({q.numerator}/{q.denominator}, {a}, {b})"], [f"({a},{frac(q)},{b})", f"({frac(q)},{a},{-b})", f"({frac(q)},{a})"]


def roots():
    a, b, c = R.sample(range(-15, 16), 3)
    return f"{a}, {b}, {c}", [f"{c}, {a}, {b}", f"\\{{{b}, {a}, {c}\\}}", f"x = {a}, {b}, {c}", f"{a}, {b} \\text{{ and }} {c}"], [f"{a}, {b}", f"{a}, {b}, {c + 31}", f"{a}, {b}, {c}, 99"]


def a_set():
    a, b = R.sample(range(1, 30), 2)
    return f"\\{{{a}, {b}\\}}", [f"\\{{{b}, {a}\\}}", f"\\left\\{{{a},{b}\\right\\}}", f"{a}, {b}"], [f"\\{{{a}\\}}", f"\\{{{a}, {b + 1}\\}}"]


def either():
    a = n(1, 30)
    return f"\\pm {a}", [f"{a}, -{a}", f"-{a}, {a}", f"\\pm{a}", f"x = \\pm {a}"], [f"{a}", f"-{a}", f"\\pm {a + 1}"]


def conjugates():
    a, b = n(1, 9), R.choice([2, 3, 5, 7])
    return f"{a} \\pm \\sqrt{{{b}}}", [f"{a}+\\sqrt{{{b}}}, {a}-\\sqrt{{{b}}}", f"{a}-\\sqrt{b}, {a}+\\sqrt{b}"], [f"{a}+\\sqrt{{{b}}}", f"-{a} \\pm \\sqrt{{{b}}}"]


def interval():
    a = n(-9, 5)
    b = a + n(1, 9)
    left, right = R.choice("(["), R.choice(")]")
    less = {"(": "<", ")": "<", "[": "\\le", "]": "\\leq"}
    flipped = ("(" if left == "[" else "[") + f"{a},{b}" + right
    return f"{left}{a},{b}{right}", [f"\\left{left}{a}, {b}\\right{right}", f"x \\in {left}{a},{b}{right}", f"{a} {less[left]} x {less[right]} {b}"], [flipped, f"{left}{a},{b + 1}{right}"]


def ray():
    a = n(-9, 9)
    return f"({a},\\infty)", [f"({a}, +\\infty)", f"x > {a}", f"{a} < x"], [f"[{a},\\infty)", f"(-\\infty,{a})", f"x < {a}"]


def union():
    a = n(-9, 3)
    b = a + n(1, 9)
    return f"(-\\infty,{a}]\\cup[{b},\\infty)", [f"[{b},\\infty)\\cup(-\\infty,{a}]", f"x \\in \\left(-\\infty,{a}\\right] \\cup \\left[{b},\\infty\\right)"], [f"(-\\infty,{a})\\cup({b},\\infty)", f"[{a},{b}]"]


def complexes():
    a, b = n(-9, 9), n(2, 9)
    return f"{a}+{b}i" if a else f"{b}i", [f"{b}i+{a}" if a >= 0 else f"{b}i{a}", f"z = {a}+{b}i" if a else f"{b}i"], [f"{a}-{b}i", f"{b}+{a - 1}i" if a > 1 else f"{b}", f"{a}+{b}"]


def matrix():
    m = [n(-9, 9) for _ in range(4)]
    m[1] += m[1] == m[2]
    write = lambda kind, m: f"\\begin{{{kind}}} {m[0]} & {m[1]} \\\\ {m[2]} & {m[3]} \\end{{{kind}}}"  # noqa: E731
    return write("pmatrix", m), [write("pmatrix", m), write("bmatrix", m), write("pmatrix", m).replace(" ", "").replace("\\\\", "\\\\ ")], [write("pmatrix", [m[0], m[2], m[1], m[3]]), write("pmatrix", [*m[:3], m[3] + 1])]


def column():
    m = [n(-9, 9) for _ in range(3)]
    write = lambda m: "\\begin{pmatrix} " + " \\\\ ".join(map(str, m)) + " \\end{pmatrix}"  # noqa: E731
    return write(m), [write(m), write(m).replace(" ", "")], [write([m[0] + 1, *m[1:]]), write(m[:2])]


def degrees():
    a = n(1, 179)
    return f"{a}^\\circ", [f"{a}", f"{a}^{{\\circ}}", f"{a}\\text{{ degrees}}", f"\\angle A = {a}^\\circ"], [f"{a + 1}^\\circ", f"{180 + a}"]


def units():
    a, (long, short) = n(2, 99), R.choice([("cm", "centimeters"), ("m", "meters"), ("hours", "hours"), ("square units", "square units"), ("miles", "miles"), ("feet", "feet")])
    return f"{a}\\text{{ {long}}}", [f"{a}", f"{a}\\ \\text{{{short}}}", f"{a}~\\mathrm{{{long}}}" if " " not in long else f"{a}"], [f"{a + 1}\\text{{ {long}}}", f"{a}{a}"]


def money():
    a = n(1, 999)
    return f"\\${a}", [f"{a}", f"\\${a}.00", f"\\$ {a}", f"{a}\\text{{ dollars}}"], [f"\\${a + 1}", f"\\${a}.50"]


def choice():
    a, b = R.sample("ABCDE", 2)
    return f"\\text{{({a})}}", [a, f"\\text{{({a})}}", f"\\textbf{{({a})}}", f"\\text{{{a}}}"], [b, f"\\text{{({b})}}"]


def words():
    a, b = R.sample(["Monday", "Tuesday", "Alice", "ellipse", "parabola", "hyperbola", "even", "odd", "red", "blue", "Yes", "No", "circle", "Spain"], 2)
    return f"\\text{{{a}}}", [f"\\text{{{a}}}", a, f"\\textbf{{{a}}}", f"\\text{{{a.lower()}}}"], [f"\\text{{{b}}}", b]


def logarithm():
    a, k = R.choice([2, 3, 5, 7]), n(2, 5)
    return f"{k}\\ln {a}", [f"\\ln {a**k}", f"\\ln({a}^{{{k}}})", f"\\frac{{{2 * k}\\ln {a}}}{{2}}"], [f"\\ln {a * k + 1}", f"{k + 1}\\ln {a}"]


def base():
    a, b, c = R.choice([(2, 3, 4), (3, 5, 9), (5, 2, 25), (7, 3, 49)])
    k = n(2, 6)
    return f"{k}\\log_{{{a}}} {b}", [f"{k}\\frac{{\\ln {b}}}{{\\ln {a}}}", f"{2 * k}\\log_{{{c}}} {b}", f"\\log_{a} {b**k}"], [f"{k}\\log_{{{b}}} {a}", f"{k + 1}\\log_{{{a}}} {b}"]


def trigonometry():
    k = n(2, 9)
    return R.choice([
        (f"{k}\\sin 2x", [f"{2 * k}\\sin x\\cos x", f"{2 * k}\\cos(x)\\sin(x)"], [f"{2 * k}\\sin x", f"{k}\\cos 2x"]),
        (f"{k}\\cos^2 x", [f"{k}-{k}\\sin^2 x", f"{k}(\\cos x)^2"], [f"{k}\\sin^2 x", f"{k}+{k}\\sin^2 x"]),
        (f"{k}\\sec^2 \\theta", [f"{k}+{k}\\tan^2\\theta", f"\\frac{{{k}}}{{\\cos^2\\theta}}"], [f"{k}\\tan^2\\theta", f"{k}-{k}\\tan^2\\theta"]),
        (f"{k}\\sin^2 x", [f"\\frac{{{k}-{k}\\cos 2x}}{{2}}", f"{k}(1-\\cos^2 x)"], [f"{k}\\sin x^2", f"\\frac{{{k}+{k}\\cos 2x}}{{2}}"]),
    ])


def exponential():
    a, b = n(2, 9), n(2, 9)
    return f"{a}e^{{{b}x}}", [f"{a}\\exp({b}x)", f"{a}(e^x)^{{{b}}}", f"e^{{{b}x}}\\cdot {a}"], [f"{a}e^{{{b + 1}x}}", f"{b + 1}e^{{{a + 1}x}}", f"{a}e^{{-{b}x}}"]


def in_base():
    b = R.choice([4, 5, 6, 7, 8])
    digits = "".join(str(R.randrange(1, b)) for _ in range(4))
    return f"{digits}_{b}", [f"{digits}_{{{b}}}", f"{digits}_{b}"], [f"{digits}1_{b}", f"{digits[:3]}0_{b}"]


def inequality():
    a, b = n(2, 9), n(1, 9)
    return f"x \\ge {a}", [f"x \\geq {a}", f"{a} \\le x", f"[{a},\\infty)", f"x\\geqslant {a}"], [f"x > {a}", f"x \\le {a}", f"x \\ge {a + b}"]


def equalities():
    a, b = n(1, 9), n(10, 19)
    return f"x={a}, y={b}", [f"x = {a}, y = {b}", f"x={a}, \\quad y={b}", f"x={a} \\text{{ and }} y={b}"], [f"x={b}, y={a}", f"x={a}, y={b + 1}"]


SHAPES = [
    integer, grouped, fraction, negative, decimal, mixed, percent, radical, surd, pi, power, scientific, binomial, factorials, quadratic, factoring, cubic, rational,
    two_variables, line, circle, point, triple, roots, a_set, either, conjugates, interval, ray, union, complexes, matrix, column, degrees, units, money, choice, words,
    logarithm, base, trigonometry, exponential, in_base, inequality, equalities,
]


def cases():
    for shape in SHAPES:
        for i in range(FREQUENT.get(shape.__name__, ROUNDS)):
            gold, same, other = shape()
            for expected, texts in ((1, same), (0, other)):
                yield {"id": f"{shape.__name__}-{i}-{expected}", "gold": gold, "text": R.choice(SENTENCES) % R.choice(texts), "expected": expected}


def main(out: str) -> None:
    with open(out, "w", encoding="utf-8") as f:
        for case in cases():
            f.write(json.dumps(case, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
