"""Repeated trigrams cost up to 1. Without any the score is -0.0, as in open-r1."""


def repetition_reward(messages, **_):
    words = messages[-1].text.split()
    grams = list(zip(words, words[1:], words[2:]))
    return (1 - len(set(grams)) / len(grams)) * -1.0 if grams else 0.0
