from merit_reward import reward_function, warm_up
from sympy import simplify
from sympy.parsing.sympy_parser import parse_expr


def equal(a, b):
    return simplify(parse_expr(a) - parse_expr(b)) == 0


@warm_up
def ready():
    equal("x**2 + 2*x + 1", "(x + 1)**2")
    equal("sin(x)**2 + cos(x)**2", "1")


@reward_function
def reward(messages, ground_truth=None, **kwargs):
    return equal(messages[-1].content.split("####")[-1], ground_truth)
