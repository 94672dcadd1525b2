import ast
import operator

OPS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv, ast.USub: operator.neg}


def calc(node):
    if isinstance(node, ast.Expression):
        return calc(node.body)
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.BinOp):
        return OPS[type(node.op)](calc(node.left), calc(node.right))
    if isinstance(node, ast.UnaryOp):
        return OPS[type(node.op)](calc(node.operand))
    raise ValueError(ast.dump(node))


def equation_reward(completions, target, nums, **kwargs):
    out = []
    for c, t, n in zip(completions, target, nums):
        try:
            used = sorted(int(x.value) for x in ast.walk(ast.parse(c, mode="eval")) if isinstance(x, ast.Constant))
            out.append(1.0 if used == sorted(n) and abs(calc(ast.parse(c, mode="eval")) - t) < 1e-5 else 0.1)
        except (SyntaxError, ValueError, KeyError, ZeroDivisionError):
            out.append(0.0)
    return out
