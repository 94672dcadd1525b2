import json
def tool_reward(completions, expected_calls, **kwargs):
    out = []
    for msgs, exp in zip(completions, expected_calls):
        calls = [(tc["function"]["name"], json.loads(tc["function"]["arguments"]) if isinstance(tc["function"]["arguments"], str) else tc["function"]["arguments"]) for m in msgs for tc in (m.get("tool_calls") or [])]
        want = [(e["name"], e["arguments"]) for e in exp]
        out.append(sum(c in want for c in calls) / max(len(calls), len(want), 1))
    return out
