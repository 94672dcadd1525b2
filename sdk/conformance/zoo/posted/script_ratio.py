import re, unicodedata
def language_consistency_reward(prompts, completions, **kwargs):
    rewards = []
    for p, c in zip(prompts, completions):
        p = p if isinstance(p, str) else p[-1]["content"]
        c = c if isinstance(c, str) else c[0]["content"]
        def ratio(t):
            letters = [ch for ch in t if unicodedata.category(ch).startswith("L")]
            cjk = [ch for ch in letters if '\u4e00' <= ch <= '\u9fff' or "CJK" in unicodedata.name(ch, "")]
            return len(cjk) / len(letters) if letters else 0.0
        rewards.append(1.0 - abs(ratio(p) - ratio(c)))
    return rewards
