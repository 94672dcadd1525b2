def reward(messages, expected_calls=1, **kwargs):
    """Encourages the use of tools: the share of the expected number of calls."""
    calls = sum(len(m.get("tool_calls") or []) for m in messages if m["role"] == "assistant")
    return min(1.0, calls / expected_calls)
