from reward_kit import reward_function


@reward_function
def thoughts(messages, **kwargs):
    """Every field that a message came with, as a key and as an attribute."""
    last = messages[-1]
    hidden = last.get("reasoning_content") or last.get("thinking") or ""
    return {"score": len(hidden) + (0.5 if last.reasoning_content else 0.0), "reason": hidden}
