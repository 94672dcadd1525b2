"""What the snapshot should hold already: late imports, compiled patterns, and the tables of the LaTeX parser.

ANTLR's parser decides by tables that it fills as it reads, and to fill them
costs a hundred times what it costs to use them. These lines have the shapes
that answers have; where a new shape comes along, a line more makes it cheap.
"""

from __future__ import annotations

import sympy.assumptions.wrapper  # noqa: F401  what sympy imports when it is first used
import sympy.combinatorics  # noqa: F401
import sympy.physics.units  # noqa: F401
import sympy.sets.handlers.issubset  # noqa: F401

# Truths and answers that are compared, for what the comparison fills.
PAIRS = r"""
18 | He has 5 + 3 = 8 and so 18.
1,234 | The answer is $1,234$.
0.5 | \boxed{\frac{1}{2}}
\frac{1}{3} | so it is $0.333333$
33 | 90 cards / 30 cards * 100% = 50%
50\% | \boxed{50}
28 | \boxed{\sqrt{34} + 3\sqrt{10}}
10,000 | \boxed{9999 \frac{6}{7}}
1\frac{1}{10} | \boxed{1 \frac{8}{91}}
3\sqrt{2} | \boxed{\sqrt{18}}
x^2+2x+1 | \boxed{(x+1)^2}
\frac{x+2}{7} | \boxed{\frac{x}{7} + \frac{3}{7}}
\sin 3x | \boxed{3\sin x - 4\sin^3 x}
y = 2x + 3 | \boxed{2x - y + 3 = 0}
x = 4 | \boxed{x = -4}
(1,-2) | \boxed{(1, -2)}
(0,3] | \boxed{0 < x \le 3}
[-1,2) \cup (3,\infty) | \boxed{(3,\infty) \cup [-1,2)}
\{1,2,3\} | \boxed{3, 2, 1}
1,-2 | The roots are $1$ and $-2$.
\begin{pmatrix} 1 \\ 2 \end{pmatrix} | \boxed{\begin{pmatrix} 1 \\ 2 \\ 3 \end{pmatrix}}
\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix} | \boxed{\begin{pmatrix} 1 & 2 \\ 3 & 5 \end{pmatrix}}
2+3i | \boxed{3i+2}
\text{even} | \boxed{\text{odd}}
4:30p.m. | \boxed{4:30}
f(x) = x^2 | \boxed{f(x) = x^3}
2^{10} | \boxed{1024}
10! | \boxed{3628801}
A | (B)
x > 3 | \boxed{3 < x}
"""

# Expressions that are only read.
SHAPES = r"""
( \frac{1}{\sqrt{3}}, -\frac{2}{5} )
[ \frac{\pi}{3}, 2 )
( 5, \frac{13 \pi}{8}, -8 )
(-6,\frac{7}{2}]
(-\infty,-\frac{1}{3})\cup (-\frac{1}{3},\infty)
(1,3-\sqrt{5})\cup(3+\sqrt{5},9)
-\frac{7 \pi}{12}, -\frac{\pi}{12}, \frac{5 \pi}{12}
(2,1,5,0)
(-7, 12)
(-7,1)
(3,\frac{7}{2})
\left(-\frac{3}{4}, -5\right)
[5,\infty)
(-\infty,-7)\cup (7,\infty)
( 6 \sqrt{3}, \frac{\pi}{5}, \frac{\pi}{7} )
2041_6
(-3x^2+x+2)(3x^2+x+2)
3x(14x^2-5x+20)
5z^{46}(3z+2)
4x^{10} - 6x^7 - 12x^4 + 7x
24R^2 - 2(a^2 + b^2 + c^2)
\frac{3x-5}{(x+2)(x-1)}
y = -\frac{1}{3} x^2 + 5x - 8
y = \frac{1}{4} x + 3
\frac{x^2}{25} - \frac{y^2}{4} = 1
a_3 = 2, a_{15} = 9
f(3) < f(1) < f(5)
x \in [-3,8]
\{2\pm\sqrt{7},-3\}
0.0021_{3}
143A_{12}
141 \frac{1}{2}
-\frac{1}{4x}
\frac{9x + 4}{x - 3}
\begin{pmatrix} 1/\sqrt{3} & -2/3 \\ 0 & \frac{x}{2} \end{pmatrix}
2\cos 35^{\circ}
4 - 7i,9,-2 + 5i
\frac{2}{5} + \frac{4}{5}i
\log_2 7
e^{2x}
|x - 3|
\frac{7!}{3!4!}
\binom{7}{3}
12 \text{ cm}^2
10 \div 2
"""


def shapes() -> "list[str]":
    """Every expression that is read."""
    return SHAPES.strip().splitlines()


def pairs() -> "list[tuple[str, str]]":
    """Every truth with its answer."""
    return [(truth.strip(), answer.strip()) for truth, _, answer in (line.partition(" | ") for line in PAIRS.strip().splitlines())]
