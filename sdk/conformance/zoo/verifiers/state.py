def from_state(state) -> float:
    """Everything by way of the state."""
    text = state["completion"][-1]["content"]
    return float(state["answer"] in text) + 0.1 * len(state["prompt"])
