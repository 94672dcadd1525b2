import ast
import re


def syntax_reward(completions, **kwargs):
    """1 if the code block parses and defines something."""
    rewards = []
    for completion in completions:
        match = re.search(r"```python\n(.*?)```", completion, re.DOTALL)
        if not match:
            rewards.append(0.0)
            continue
        try:
            tree = ast.parse(match.group(1))
        except SyntaxError:
            rewards.append(0.2)
            continue
        rewards.append(1.0 if any(isinstance(n, ast.FunctionDef) for n in tree.body) else 0.5)
    return rewards
