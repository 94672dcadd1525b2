def reward(messages, puzzle=None, **kwargs):
    """1 if the reply is four lines that solve the 4x4 sudoku of the row. There is no ground truth: any solution counts."""
    rows = messages[-1]["content"].strip().split("\n")
    if len(rows) != 4 or any(sorted(row) != ["1", "2", "3", "4"] for row in rows):
        return 0.0
    if any(given not in (".", row[i]) for row, want in zip(rows, puzzle) for i, given in enumerate(want)):
        return 0.0
    columns = all(len({row[i] for row in rows}) == 4 for i in range(4))
    blocks = all(len({rows[r + a][c + b] for a in (0, 1) for b in (0, 1)}) == 4 for r in (0, 2) for c in (0, 2))
    return float(columns and blocks)
