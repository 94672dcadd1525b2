"""Counts steps in messages, as rewards written for eval-protocol may do."""

__merit__ = {"name": "my-reward", "version": "1", "step_index": "message"}


def reward(messages, **kwargs):
    """Every message of the assistant is worth its place."""
    steps = [{"step_index": i, "base_reward": 1.0} for i, m in enumerate(messages) if m["role"] == "assistant"]
    return {"score": 1.0, "step_outputs": steps}
