def gsm8k_reward_fn(prompt, completions, prompt_ids, completion_ids, answer, **kwargs):
    """Here completions is one text."""
    tail = completions.split("</think>")[-1]
    return int(answer.split()[-1] in tail)
