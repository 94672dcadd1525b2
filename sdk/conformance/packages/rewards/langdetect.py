from langdetect import DetectorFactory, detect_langs

DetectorFactory.seed = 0


def reward(messages, ground_truth):
    return sum(guess.prob for guess in detect_langs(messages[-1]["content"]) if guess.lang == ground_truth)
