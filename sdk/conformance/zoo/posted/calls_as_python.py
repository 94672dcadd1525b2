"""BFCL style AST matching of a python-syntax function call."""
import ast, json

def resolve_ast_by_type(value):
    if isinstance(value, ast.Constant):
        return "..." if value.value is Ellipsis else value.value
    if isinstance(value, ast.UnaryOp):
        return -value.operand.value
    if isinstance(value, ast.List):
        return [resolve_ast_by_type(v) for v in value.elts]
    if isinstance(value, ast.Dict):
        return {resolve_ast_by_type(k): resolve_ast_by_type(v) for k, v in zip(value.keys, value.values)}
    if isinstance(value, ast.Name):
        return value.id
    if isinstance(value, ast.Tuple):
        return tuple(resolve_ast_by_type(v) for v in value.elts)
    if isinstance(value, (ast.BinOp, ast.Call)):
        return eval(ast.unparse(value))
    raise Exception(f"Unsupported AST type: {type(value)}")

def ast_parse(input_str):
    cleaned = input_str.strip("[]'` \n")
    parsed = ast.parse(cleaned, mode="eval")
    calls = [parsed.body] if isinstance(parsed.body, ast.Call) else parsed.body.elts
    out = []
    for c in calls:
        name, n = [], c.func
        while isinstance(n, ast.Attribute):
            name.append(n.attr); n = n.value
        name.append(n.id)
        out.append({".".join(reversed(name)): {k.arg: resolve_ast_by_type(k.value) for k in c.keywords}})
    return out

def tool_reward(completions, ground_truth, **kwargs):
    scores = []
    for completion, truth in zip(completions, ground_truth):
        text = completion if isinstance(completion, str) else completion[-1]["content"]
        truth = json.loads(truth) if isinstance(truth, str) else truth
        try:
            decoded = ast_parse(text)
        except Exception:
            scores.append(0.0); continue
        if len(decoded) != len(truth):
            scores.append(0.1); continue
        ok = 0
        for d, t in zip(decoded, truth):
            (fn, args), = d.items(); (tfn, targs), = t.items()
            if fn != tfn: continue
            if all(k in targs and v in targs[k] for k, v in args.items()) and all(k in args or "" in v for k, v in targs.items()):
                ok += 1
        scores.append(0.1 + 0.9 * ok / len(truth))
    return scores
