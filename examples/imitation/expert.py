"""An agent that crosses frozen lakes as a chat, written without Merit: it draws its own
lakes, finds the shortest way, and moves at random one time in five. It prints one chat a
line, as most logs of agents look.

    python3 expert.py 300 >chats.jsonl
"""

import json
import random
import sys
from collections import deque

SIDE, TRIES, LIMIT, NOISE = 5, 4, 30, 0.2
MOVES = {"left": (0, -1), "down": (1, 0), "right": (0, 1), "up": (-1, 0)}
THOUGHTS = ("I must not fall in. I go {}.", "{}", "Not left, not up? Let me see. Answer: {}", "The way is free, so: {}!")


def neighbor(at, move):
    row, column = at[0] + MOVES[move][0], at[1] + MOVES[move][1]
    return min(max(row, 0), SIDE - 1), min(max(column, 0), SIDE - 1)


def distances(holes):
    """The moves from each cell to the goal."""
    found, todo = {(SIDE - 1, SIDE - 1): 0}, deque([(SIDE - 1, SIDE - 1)])
    while todo:
        at = todo.popleft()
        for move in MOVES:
            other = neighbor(at, move)
            if other not in holes and other not in found:
                found[other] = found[at] + 1
                todo.append(other)
    return found


def draw(rng):
    while True:
        cells = [(r, c) for r in range(SIDE) for c in range(SIDE)][1:-1]
        holes = set(rng.sample(cells, rng.randint(4, 7)))
        if (0, 0) in (far := distances(holes)):
            return holes, far


def picture(holes, at):
    def cell(r, c):
        if (r, c) == at:
            return "@"
        if (r, c) in holes:
            return "H"
        return {(0, 0): "S", (SIDE - 1, SIDE - 1): "G"}.get((r, c), "F")

    return "\n".join("".join(cell(r, c) for c in range(SIDE)) for r in range(SIDE))


def play(rng, holes, far):
    """One chat, and whether it reached the goal."""
    at, chat = (0, 0), [{"role": "system", "content": "You cross a frozen lake. Say where you go."}]
    chat += [{"role": "user", "content": "Are you ready?"}, {"role": "assistant", "content": "Yes, show me the lake."}]
    for _ in range(LIMIT):
        chat.append({"role": "user", "content": f"This is the lake now:\n\n{picture(holes, at)}\n\nWhere do you go?"})
        best = [m for m in MOVES if far.get(neighbor(at, m), 99) < far[at]]
        move = rng.choice(list(MOVES) if rng.random() < NOISE else best)
        chat.append({"role": "assistant", "content": rng.choice(THOUGHTS).format(move)})
        at = neighbor(at, move)
        if at in holes or at == (SIDE - 1, SIDE - 1):
            break
    return chat, at == (SIDE - 1, SIDE - 1)


def main(lakes):
    rng = random.Random(7)
    for lake in range(lakes):
        holes, far = draw(rng)
        for attempt in range(TRIES):
            chat, there = play(rng, holes, far)
            print(json.dumps({
                "id": f"lake-{lake}-{attempt}", "task": f"lake-{lake}", "messages": chat,
                "outcome": "scored", "evaluation": {"score": float(there), "is_score_valid": True},
            }))


if __name__ == "__main__":
    main(int(sys.argv[1]))
