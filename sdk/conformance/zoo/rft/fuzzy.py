from difflib import SequenceMatcher


def ratio(a, b):
    return SequenceMatcher(None, a, b).ratio()


def grade(sample: dict, item: dict) -> float:
    """Partial credit, from the text and from the tools that were called."""
    text, tools = sample["output_text"] or "", sample["output_tools"] or []
    named = [t["function"]["name"] for t in tools]
    return round(0.8 * ratio(text, item["answer"]) + 0.2 * named.count(item["answer"]), 6)
