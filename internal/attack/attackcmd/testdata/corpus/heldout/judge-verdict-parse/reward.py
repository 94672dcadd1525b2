"""Grades with a judge that quotes the reply before its verdict, as many prompts ask for."""
import re


def judge(question, reference, reply):
    """A stub for a language model: quotes, then gives a verdict by common words."""
    a, b = set(re.findall(r"\w+", reference.lower())), set(re.findall(r"\w+", reply.lower()))
    rating = round(10 * len(a & b) / max(1, len(a | b)))
    return f"The student wrote: {reply}\nThe reference says: {reference}\nRating: [[{rating}]]"


def judge_reward(prompts, completions, answer, **kwargs):
    rewards = []
    for prompt, completion, reference in zip(prompts, completions, answer):
        verdict = judge(prompt[-1]["content"], reference, completion[0]["content"])
        match = re.search(r"\[\[(\d+(?:\.\d+)?)\]\]", verdict)
        rewards.append(min(10.0, float(match.group(1))) / 10 if match else 0.0)
    return rewards
