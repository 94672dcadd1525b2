"""Rewards every step that calls tools by what became of its calls.

The rules stand in sdk/conformance/README.md: the same reward exists in every
language.
"""

from merit_reward import EvaluateResult, StepOutput, reward_function

SPACE = " \t\n\v\f\r"
MALFORMED = "malformed arguments"


@reward_function
def tools(messages, **kwargs):
    steps, calls, good, bad, step = [], 0, 0, 0, -1
    for i, m in enumerate(messages):
        if m["role"] != "assistant":
            continue
        step += 1
        if not m.tool_calls:
            continue
        problems = [problem_of(messages, i + 1, c) for c in m.tool_calls]
        good += problems.count("")
        bad += problems.count(MALFORMED)
        calls += len(problems)
        steps.append(
            StepOutput(
                step_index=step,
                base_reward=(problems.count("") - 0.5 * problems.count(MALFORMED)) / len(problems),
                reason=next(filter(None, problems), ""),
                metrics={"calls": len(problems)},
            )
        )
    if not calls:
        return EvaluateResult(is_score_valid=False, reason="no tool was called")
    return EvaluateResult(score=good / calls, metrics={"calls": calls, "malformed": bad}, step_outputs=steps)


def problem_of(messages, start, call):
    """What is wrong with a call, or "". Its result stands among the tool messages that follow directly."""
    if not is_object(call.function.arguments.strip(SPACE)):
        return MALFORMED
    for m in messages[start:]:
        if m["role"] != "tool":
            break
        if m.get("tool_call_id", "") == call.id:
            text = m.text.strip(SPACE)
            return "the tool failed" if text[:5].isascii() and text[:5].lower() == "error" else ""
    return "no result"


def is_object(text):
    """Whether text looks like a JSON object: what opens outside of strings closes only at its end."""
    if not (text.startswith("{") and text.endswith("}")):
        return False
    depth, quoted, skip = 0, False, False
    for i, c in enumerate(text):
        if skip:
            skip = False
        elif quoted and c == "\\":
            skip = True
        elif c == '"':
            quoted = not quoted
        elif quoted:
            pass
        elif c in "{[":
            depth += 1
        elif c in "]}":
            depth -= 1
            if depth == 0:
                return i == len(text) - 1
    return False
