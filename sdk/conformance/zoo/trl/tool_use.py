import json


def tool_reward(prompts, completions, answer, **kwargs) -> list[float]:
    rewards = []
    for completion, gold in zip(completions, answer):
        calls = [tc for m in completion if m["role"] == "assistant" for tc in (m.get("tool_calls") or [])]
        ok = 0
        for tc in calls:
            try:
                ok += isinstance(json.loads(tc["function"]["arguments"]), dict) and bool(tc["function"]["name"])
            except json.JSONDecodeError:
                pass
        results = {m["tool_call_id"]: m["content"] for m in completion if m["role"] == "tool"}
        found = any(gold in str(r) for r in results.values())
        final = completion[-1].get("content") or ""
        rewards.append(0.1 * ok + 0.2 * found + (1.0 if gold in final else 0.0))
    return rewards
