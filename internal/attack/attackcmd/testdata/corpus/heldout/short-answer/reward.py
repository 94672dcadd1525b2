import re
import unicodedata


def normalize(text):
    text = unicodedata.normalize("NFC", text).casefold()
    text = re.sub(r"\b(?:a|an|the)\b", " ", text)
    return " ".join(re.sub(r"[.,!?]+(?=\s|$)", " ", text).split())


def exact_match(completions, answer, **kwargs):
    """1 if the whole reply is the answer, apart from case, articles, spaces and a final mark."""
    return [float(normalize(c[0]["content"]) == normalize(a)) for c, a in zip(completions, answer)]
