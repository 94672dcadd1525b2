"""Which call stands for which expectation."""

from __future__ import annotations


def best(credits: list[list[float]], in_order: bool) -> list[float]:
    """What each call is worth, when no expectation counts twice; ``credits`` has a row for each call, a column for each expectation."""
    return _ordered(credits) if in_order else _free(credits)


def _free(credits: list[list[float]]) -> list[float]:
    """As many full matches as there can be; then, of what is left, the dearest pair first."""
    owner: dict[int, int] = {}  # of an expectation: its call

    def place(call: int, tried: set[int]) -> bool:
        for wanted, credit in enumerate(credits[call]):
            if credit == 1 and wanted not in tried:
                tried.add(wanted)
                if wanted not in owner or place(owner[wanted], tried):
                    owner[wanted] = call
                    return True
        return False

    for call in range(len(credits)):
        place(call, set())
    worth = [0.0] * len(credits)
    placed = set(owner.values())
    for wanted, call in owner.items():
        worth[call] = credits[call][wanted]
    rest = [(-c, call, wanted) for call, row in enumerate(credits) for wanted, c in enumerate(row) if c and call not in placed and wanted not in owner]
    for c, call, wanted in sorted(rest):
        if call not in placed and wanted not in owner:
            worth[call], owner[wanted] = -c, call
            placed.add(call)
    return worth


def _ordered(credits: list[list[float]]) -> list[float]:
    """The dearest common subsequence of calls and expectations."""
    calls, wanted = len(credits), len(credits[0]) if credits else 0
    value = [[0.0] * (wanted + 1) for _ in range(calls + 1)]
    for i in range(calls - 1, -1, -1):
        for j in range(wanted - 1, -1, -1):
            value[i][j] = max(value[i + 1][j], value[i][j + 1], credits[i][j] + value[i + 1][j + 1])
    worth = [0.0] * calls
    i = j = 0
    while i < calls and j < wanted:
        if value[i][j] == value[i][j + 1]:
            j += 1
        elif value[i][j] == value[i + 1][j]:
            i += 1
        else:
            worth[i] = credits[i][j]
            i, j = i + 1, j + 1
    return worth
