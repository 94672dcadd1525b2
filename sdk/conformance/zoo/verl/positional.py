def evaluate_row(task, completion, reference, task_extra_info=None):
    """As prime's manager calls it: by position, whatever the names."""
    return float(reference in completion) + (0.5 if task.startswith("openai/") else 0.0)
