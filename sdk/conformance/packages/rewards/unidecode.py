from unidecode import unidecode


def reward(messages, ground_truth):
    return float(unidecode(messages[-1]["content"]).lower() == ground_truth)
