import chess


def reward(messages, ground_truth):
    """The moves of a line that are legal, and a bonus for mate."""
    board, legal = chess.Board(ground_truth), 0
    moves = messages[-1]["content"].split()
    for move in moves:
        try:
            board.push_san(move)
        except ValueError:
            break
        legal += 1
    return legal / len(moves) + float(board.is_checkmate())
