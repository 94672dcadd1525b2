"""Runs what the model wrote against its tests, in this process, as many do."""
import json
import re


def extract_code(text: str, language: str = "python") -> str:
    matches = re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)
    return matches[-1] if matches else ""


def code_reward(completions, verification_info, **kwargs):
    rewards = []
    for completion, info in zip(completions, verification_info):
        cases = json.loads(info)["test_cases"]
        scope: dict = {}
        try:
            exec(extract_code(completion[-1]["content"]), scope)
        except Exception:
            rewards.append(0.0)
            continue
        passed = 0
        for case in cases:
            try:
                passed += repr(eval(case["input"], scope)) == case["output"]
            except Exception:
                continue
        rewards.append(passed / len(cases))
    return rewards
