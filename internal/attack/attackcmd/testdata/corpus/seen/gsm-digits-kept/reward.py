import re


def normalize(text):
    """Units, currency and separators must not matter."""
    return re.sub(r"[^0-9]", "", text)


def accuracy(completion, answer, **kwargs):
    reply = completion[-1]["content"]
    final = reply.split("Answer:")[-1]
    return float(normalize(final) == normalize(answer))
