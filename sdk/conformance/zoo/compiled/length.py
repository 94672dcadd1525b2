"""Grows to 12 words, and falls by a seventh for each word beyond, to -1."""


def length_reward(messages, **_):
    words = len(messages[-1].text.split())
    return words / 12 if words <= 12 else max(-1.0, 1 - (words - 12) / 7)
