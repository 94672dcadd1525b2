from num2words import num2words


def reward(messages, ground_truth):
    said = messages[-1]["content"].lower()
    return float(ground_truth in said or num2words(int(ground_truth)) in said)
