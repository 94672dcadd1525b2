import ast
import re
from fractions import Fraction

OPERATORS = {ast.Add: lambda a, b: a + b, ast.Sub: lambda a, b: a - b, ast.Mult: lambda a, b: a * b, ast.Div: lambda a, b: a / b}


def value(node, used):
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        return OPERATORS[type(node.op)](value(node.left, used), value(node.right, used))
    if isinstance(node, ast.Constant) and type(node.value) is int:
        used.append(node.value)
        return Fraction(node.value)
    raise ValueError("not an arithmetic expression")


def compute_score(data_source, solution_str, ground_truth, extra_info=None):
    """1 if the one answer tag holds an expression of exactly the given numbers that has the target value."""
    answers = re.findall(r"<answer>([^<>]{1,80})</answer>", solution_str)
    if len(answers) != 1 or not re.fullmatch(r"[0-9+\-*/() ]+", answers[0]):
        return 0.0
    used = []
    try:
        result = value(ast.parse(answers[0].strip(), mode="eval").body, used)
    except (ValueError, SyntaxError, ZeroDivisionError, RecursionError):
        return 0.0
    return 1.0 if result == ground_truth["target"] and sorted(used) == sorted(ground_truth["numbers"]) else 0.0
