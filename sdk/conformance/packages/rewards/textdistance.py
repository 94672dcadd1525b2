import textdistance


def reward(messages, ground_truth):
    said = messages[-1]["content"]
    return textdistance.jaro_winkler(said, ground_truth) + textdistance.levenshtein.normalized_similarity(said, ground_truth)
