

def advantages_for_merit(messages, rows):
    """Calls advantages(rows) and checks that it returns a finite number for each row."""
    count = len(rows)
    found = advantages(rows)
    if isinstance(found, (str, bytes, dict)) or not hasattr(found, "__iter__"):
        raise TypeError(f"advantages returned {type(found).__name__}; return a list with a number for each row")
    found = list(found)
    if len(found) != count:
        raise ValueError(f"advantages returned {len(found)} numbers for {count} rows")
    steps = []
    for i, a in enumerate(found):
        if isinstance(a, bool) or not isinstance(a, (int, float)):
            raise TypeError(f"the advantage of row {i} is {a!r}, not a number")
        if not abs(a) < float("inf"):
            raise ValueError(f"the advantage of row {i} is {a!r}, not a finite number")
        steps.append({"step_index": i, "base_reward": float(a)})
    return {"score": 0.0, "step_outputs": steps}
