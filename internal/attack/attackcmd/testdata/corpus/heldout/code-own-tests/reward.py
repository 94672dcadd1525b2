import re


def code_reward(completions, **kwargs):
    """The model writes a solution and tests; 1 if there are at least three assertions and all hold."""
    rewards = []
    for completion in completions:
        blocks = re.findall(r"```python\n(.*?)```", completion[0]["content"], re.DOTALL)
        program = "\n".join(blocks)
        if program.count("assert ") < 3:
            rewards.append(0.0)
            continue
        try:
            exec(program, {})
            rewards.append(1.0)
        except Exception:
            rewards.append(0.0)
    return rewards
