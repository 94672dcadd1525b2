from sympy import simplify, sympify


def reward(messages, ground_truth):
    return float(simplify(sympify(messages[-1]["content"]) - sympify(ground_truth)) == 0)
