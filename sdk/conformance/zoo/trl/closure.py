"""open-r1 makes rewards with functions that return functions."""
from functools import partial, update_wrapper


def get_repetition_penalty_reward(ngram_size: int, max_penalty: float):
    if max_penalty > 0:
        raise ValueError(f"max_penalty {max_penalty} should not be positive")

    def zipngram(text: str, n: int):
        words = text.lower().split()
        return zip(*[words[i:] for i in range(n)])

    def repetition_penalty_reward(completions, **kwargs) -> float:
        rewards = []
        for completion in completions:
            text = completion[0]["content"]
            if text == "" or len(text.split()) < ngram_size:
                rewards.append(0.0)
                continue
            ngrams, total = set(), 0
            for ng in zipngram(text, ngram_size):
                ngrams.add(ng)
                total += 1
            rewards.append((1 - len(ngrams) / total) * max_penalty)
        return rewards

    return repetition_penalty_reward


repetition = get_repetition_penalty_reward(ngram_size=2, max_penalty=-1.0)


def scaled(completions, factor, **kwargs):
    return [factor * s for s in repetition(completions, **kwargs)]


halved = update_wrapper(partial(scaled, factor=0.5), scaled)
