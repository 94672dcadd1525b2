"""Reports a digest of every part of a rollout, as sdk/conformance/README.md describes."""

import struct

from merit_reward import EvaluateResult, StepOutput, reward_function

ROLES = ["system", "user", "assistant", "tool"]
STOPS = ["terminated", "truncated", "policy_ended", "pattern", "error"]
KINDS = ["choice", "text", "tool"]


@reward_function
def conformance(rollout, **kwargs):
    print("conformance")
    return result(rollout, {})


def result(r, metrics):
    asked = r.metadata.get("conformance")
    if asked == "invalid":
        return EvaluateResult(is_score_valid=False, reason="invalid as asked", metrics=metrics)
    if asked == "error":
        return EvaluateResult(error="error as asked")
    steps = []
    for m in (m for m in r.messages[prompt(r) :] if m["role"] == "assistant"):
        calls = m.tool_calls or []
        steps.append(
            StepOutput(
                step_index=len(steps),
                base_reward=len(m.text.encode()),
                metrics={"tool_calls": len(calls)},
                reason=calls[0].function.name if calls else "",
            )
        )
    for section in (trajectory, messages, tool_calls, ground_truth, metadata, steps_of):
        metrics[section.__name__.removesuffix("_of")] = fnv(b"".join(section(r)))
    return EvaluateResult(score=len(r.messages), reason=r.id, metrics=metrics, step_outputs=steps)


def prompt(r):
    if r.prompt_messages is not None:
        return r.prompt_messages
    return r.steps[0].message_count if r.steps else 0


def fnv(data):
    h = 2166136261
    for b in data:
        h = (h ^ b) * 16777619 & 0xFFFFFFFF
    return h


def num(n):
    return struct.pack("<I", int(n) & 0xFFFFFFFF)


def string(s):
    b = s.encode()
    return num(len(b)) + b


def place(names, name):
    return num(names.index(name) + 1 if name in names else 0)


def value(v, absent=False):
    if absent:
        return num(0)
    if isinstance(v, str):
        return num(1) + string(v)
    if isinstance(v, bool):
        return num(3) + num(v)
    if v is None:
        return num(4)
    try:
        f = float(v)
    except (TypeError, OverflowError):
        return num(5)
    return num(5) if f in (float("inf"), float("-inf")) else num(2) + struct.pack("<d", f)


def trajectory(r):
    places = [i for i, m in enumerate(r.messages) if m["role"] == "assistant"]
    yield string(r.id)
    yield string(r.group)
    yield string(r.task)
    yield place(STOPS, r.stop_reason)
    yield num(len(places))
    yield num(places[-1] if places else -1)
    yield string(r.answer)


def messages(r):
    actions = {s.message_count: i for i, s in enumerate(r.steps)}
    assistants = 0
    yield num(len(r.messages))
    for i, m in enumerate(r.messages):
        yield place(ROLES, m["role"])
        step = m["role"] == "assistant" and i >= prompt(r)
        yield num(assistants if step else -1)
        assistants += step
        yield string(m["role"])
        yield string(m.text)
        yield string(m.name or "")
        yield string(m.tool_call_id or "")
        yield num(m.content is None)
        yield num(actions.get(i, -1))
        yield num(len(m.tool_calls or []))


def tool_calls(r):
    for i, m in enumerate(r.messages):
        for c in m.tool_calls or []:
            yield num(i)
            yield string(c.id)
            yield string(c.function.name)
            yield string(c.function.arguments)
            yield string(c.type)


def ground_truth(r):
    yield value(r.ground_truth, "ground_truth" not in r)


def metadata(r):
    yield num(len(r.metadata))
    for k in sorted(r.metadata, key=str.encode):
        yield string(k)
        yield value(r.metadata[k])


def steps_of(r):
    yield num(len(r.steps))
    for s in r.steps:
        yield num(s.message_count if s.message_count < len(r.messages) else -1)
        yield string(s.action.text)
        yield place(KINDS, s.action.kind)
        yield num(s.action.choice)
        yield num(s.action_valid)
        yield struct.pack("<d", s.env_reward)
        yield num(s.terminated)
        yield num(s.truncated)
        yield string(s.anchor)
        yield num(len(s.action.tool_calls))
