import regex

number = regex.compile(r"(?<![\p{L}\d])[-+]?\p{Nd}+(?:[.,]\p{Nd}+)?")


def reward(messages, ground_truth):
    found = number.findall(messages[-1]["content"])
    close = regex.search(r"(?:answer){e<=2}", messages[-1]["content"], flags=regex.IGNORECASE)
    return float(found[-1:] == [ground_truth]) + 0.1 * len(found) - 0.01 * sum(close.fuzzy_counts if close else (9,))
