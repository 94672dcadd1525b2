def tag_count_reward(completions, **kwargs) -> list[float]:
    """A quarter for each of the four tags on its own line."""

    def count(text):
        score = 0.0
        if text.count("<think>\n") == 1:
            score += 0.25
        if text.count("\n</think>\n") == 1:
            score += 0.25
        if text.count("\n<answer>\n") == 1:
            score += 0.25
        if text.count("\n</answer>") == 1:
            score += 0.25
        return score

    return [count(c[0]["content"]) for c in completions]
