def tag_count_reward(completions, **kwargs) -> list[float]:
    def count_tags(text: str) -> float:
        count = 0.0
        for tag in ("<think>\n", "\n</think>\n", "\n<answer>\n", "\n</answer>"):
            count += 0.25 if text.count(tag) == 1 else 0.0
        return count

    return [count_tags(c[0]["content"]) for c in completions]
