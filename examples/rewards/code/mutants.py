"""Small mistakes in solutions, made by a rule."""

from __future__ import annotations

import ast
import copy

MOST = 4  # of a problem
SWAPS = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Mod: ast.FloorDiv, ast.FloorDiv: ast.Mod, ast.Lt: ast.GtE, ast.Gt: ast.LtE,
    ast.LtE: ast.Lt, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip


def mutants(problem: "dict[str, str]") -> "list[str]":
    """Completions with one mistake each: another operator, an integer that is one more, and last no result at all.

    Of those that can be made three are taken, spread over the function.
    """
    tree = ast.parse(problem["prompt"] + problem["canonical_solution"])
    made = []
    for i in range(sum(1 for _ in ast.walk(_function(tree, problem)))):
        function = _function(copy.deepcopy(tree), problem)
        if _mistake(list(ast.walk(function))[i]):
            body = "\n".join(map(ast.unparse, function.body[1:]))  # behind the docstring, which the prompt has
            made.append("".join(f"    {line}\n" for line in body.split("\n")))
    return made[:: max(1, len(made) // (MOST - 1))][: MOST - 1] + ["    return None\n"]


def _function(tree: ast.Module, problem: "dict[str, str]") -> ast.FunctionDef:
    return next(n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == problem["entry_point"])


def _mistake(node: ast.AST) -> bool:
    """Changes a node, if there is a rule for it."""
    op = getattr(node, "op", None)
    if type(op) in SWAPS:
        node.op = SWAPS[type(op)]()  # type: ignore[attr-defined]
        return True
    if isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPS:
        node.ops[0] = SWAPS[type(node.ops[0])]()
        return True
    if isinstance(node, ast.Constant) and type(node.value) is int:
        node.value += 1
        return True
    return False
