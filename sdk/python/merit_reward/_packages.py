"""Warms up packages that many rewards rest on and whose first calls are dear.

sympy imports half of itself when something is first simplified, and ANTLR, with
which math-verify and latex2sympy2_extended read LaTeX, decides by tables that
it fills as it reads. Without this, every evaluation would pay for both. A reward with a
warm-up of its own does without, and so does one that says ``warm_up: "off"``.
"""

from __future__ import annotations

import sys

# Truths and answers in the shapes that answers have: what is read and compared.
PAIRS = r"""
18 | so \boxed{18}
1,234 | The answer is $1,234$.
\frac{3}{4} | \boxed{0.75}
50\% | \boxed{50\%}
5\sqrt{2} | \boxed{\sqrt{50}}
(x+1)^2 | \boxed{x^2+2x+1}
\frac{3\pm\sqrt{5}}{2} | $x = \boxed{\frac{3 \pm \sqrt{5}}{2}}$
\frac{x+2}{7} | \boxed{\frac{x}{7} + \frac{2}{7}}
y = 2x + 3 | \boxed{2x - y + 3 = 0}
x = 4 | \boxed{x=-4}
(3,-4) | \boxed{(3, -4)}
(-\infty, 2] \cup [5, \infty) | $x \in \boxed{(-\infty, 2] \cup [5, \infty)}$
\{1, 2, 3\} | \boxed{\{1,2,3\}}
\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix} | \boxed{\begin{pmatrix}1&2\\3&4\end{pmatrix}}
9\pi | \boxed{9\pi} square units
60^\circ | \boxed{60^{\circ}}
12 | \boxed{12\text{ hours}}
\text{even} | \boxed{\text{odd}}
2^{10} | \boxed{1024}
\log_2 8 | \boxed{3}
\sin^2 x | \boxed{1 - \cos^2 x}
2+3i | \boxed{3i+2}
x > 3 | \boxed{3 < x}
|x - 3| | \boxed{|3 - x|}
\frac{7!}{3!4!} | \boxed{\binom{7}{3}}
28 | \boxed{\sqrt{34} + 3\sqrt{10}}
x^2+x-6 | \boxed{(x-2)(x+3)}
"""

# Expressions that are only read.
SHAPES = r"""
( \frac{1}{\sqrt{3}}, -\frac{2}{5} )
(3,\frac{7}{2})
[ \frac{\pi}{3}, 2 )
(1,3-\sqrt{5})\cup(3+\sqrt{5},9)
\{2\pm\sqrt{7},-3\}
-\frac{7 \pi}{12}, -\frac{\pi}{12}
(-3x^2+x+2)(3x^2+x+2)
3x(14x^2-5x+20)
5z^{46}(3z+2)
\frac{3x-5}{(x+2)(x-1)}
y = -\frac{1}{3} x^2 + 5x - 8
\frac{x^2}{25} - \frac{y^2}{4} = 1
f(x) = x^2
a_3 = 2
-\frac{1}{4x}
\begin{pmatrix} 1/\sqrt{3} & -2/3 \\ 0 & \frac{x}{2} \end{pmatrix}
e^{2x}
3\sin x - 4\sin^3 x
x \in [-3,8]
"""

# Expressions that are equal, as Python writes them.
EQUAL = """
2*(x + 1) | 2*x + 2
1/2 + 1/3 | 5/6
0.5 | 1/2
sqrt(50) | 5*sqrt(2)
x**3 - y**3 | (x - y)*(x**2 + x*y + y**2)
x/(x**2 - 1) | x/((x - 1)*(x + 1))
sin(x)**2 + cos(x)**2 | 1
sin(2*x) | 2*sin(x)*cos(x)
exp(x)*exp(y) | exp(x + y)
log(x**2) | 2*log(x)
factorial(5) | 120
pi/4 | atan(1)
"""


def warm(path: str) -> None:
    """Warms up what the module at a path uses of them, also where only its functions import it."""
    with open(path, encoding="utf-8", errors="replace") as f:
        text = f.read()
    for name, first in (("math_verify", _math_verify), ("latex2sympy2_extended", _latex), ("sympy", _sympy)):
        if name in sys.modules or name in text and _there(name):
            try:
                first()
            except Exception:  # another version: it is warm as far as this came
                pass


def _there(name: str) -> bool:
    from importlib.util import find_spec

    return find_spec(name) is not None


def _pairs(text: str) -> "list[tuple[str, str]]":
    return [(a, b) for a, _, b in (line.partition(" | ") for line in text.strip().splitlines())]


def _math_verify() -> None:
    from latex2sympy2_extended import NormalizationConfig
    from math_verify import ExprExtractionConfig, LatexExtractionConfig, parse, verify

    def latex(**how):  # type: ignore[no-untyped-def]
        return LatexExtractionConfig(boxed_match_priority=0, **how)

    def normal(boxed):  # type: ignore[no-untyped-def]
        return NormalizationConfig(nits=False, malformed_operators=False, basic_latex=True, equations=True, boxed=boxed, units=True)

    ways = (
        (latex(), ExprExtractionConfig()),
        *((latex(normalization_config=normal(boxed), try_extract_without_anchor=False),) for boxed in ("all", True)),  # open-r1's
    )
    for truth, answer in _pairs(PAIRS):
        gold = parse(f"${truth}$", extraction_config=[LatexExtractionConfig()], extraction_mode="first_match")
        for way in ways:
            verify(parse(answer, extraction_config=way, extraction_mode="first_match"), gold)
    for shape in SHAPES.strip().splitlines():
        parse(f"${shape}$", extraction_config=[LatexExtractionConfig()], extraction_mode="first_match")
    verify(parse("18"), parse("5 + 3 = 8 and so 18.5"))


def _latex() -> None:
    if "math_verify" in sys.modules:
        return  # has read the same
    from latex2sympy2_extended import latex2sympy

    for shape in [*(truth for truth, _ in _pairs(PAIRS)), *SHAPES.strip().splitlines()]:
        try:
            latex2sympy(shape)
        except Exception:  # a shape that only math-verify reads
            pass


def _sympy() -> None:
    import sympy
    from sympy.parsing import sympy_parser as parser

    lenient = (*parser.standard_transformations, parser.implicit_multiplication_application, parser.convert_xor)
    for a, b in _pairs(EQUAL):
        difference = sympy.sympify(a) - parser.parse_expr(b, transformations=lenient)
        sympy.simplify(difference)
        sympy.expand(difference).equals(0)
        sympy.N(difference)
    x = sympy.Symbol("x")
    sympy.solve(sympy.Eq(x**2, 4), x)
    sympy.factor(x**2 - 1)
