from sympy import simplify, sympify


def same(a, b):
    return simplify(sympify(a) - sympify(b)) == 0


same("x + x", "2*x")


def sympy_reward(completions, expression, **kwargs):
    return [1.0 if same(c.split("=")[-1], e) else 0.0 for c, e in zip(completions, expression)]
