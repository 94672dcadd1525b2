from word2number import w2n


def reward(messages, ground_truth):
    try:
        return float(w2n.word_to_num(messages[-1]["content"]) == int(ground_truth))
    except ValueError:
        return -1.0
