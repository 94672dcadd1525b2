def thinks(completions, **kwargs):
    """At least three words of reasoning in a field of its own."""
    return [float(any(len((m.get("reasoning_content") or "").split()) >= 3 for m in c)) for c in completions]
