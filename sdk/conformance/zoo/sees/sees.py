"""A digest of everything that a reward sees; the files beside this one compute the same in other languages."""

import json

OWN = ("role", "content", "name", "tool_calls", "tool_call_id")


def reward(rollout):
    seen = []
    for m in rollout["messages"]:
        seen += [m["role"], m.text, m.get("name") or "", m.get("tool_call_id") or ""]
        for c in m.get("tool_calls") or []:
            seen += [c["id"], c["function"]["name"], c["function"]["arguments"], c["type"]]
        seen += [part for k, v in m.items() if k not in OWN for part in (k, written(v))]
    given = rollout.get("given_as_text") or []
    seen += [str(rollout.get("prompt_messages", -1)), "ny"["prompt" in given], "ny"["completion" in given]]
    seen += [part for k, v in sorted(rollout["metadata"].items()) for part in (k, written(v))]
    return digest(seen)


def written(value):
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def digest(seen):
    h = 0
    for byte in "".join(text + "\0" for text in seen).encode():
        h = (h * 31 + byte) & 0xFFFFFFFF
    return float(h)
