def boxes(text):
    found, at = [], 0
    while (at := text.find("\\boxed{", at)) >= 0:
        at += len("\\boxed{")
        depth, end = 1, at
        while end < len(text) and depth:
            depth += (text[end] == "{") - (text[end] == "}")
            end += 1
        if depth:
            return None
        found.append(text[at:end - 1])
        at = end
    return found


def accuracy_reward(completions, solution, **kwargs):
    """1 if there is exactly one box and it holds the solution, apart from spaces."""
    rewards = []
    for completion, sol in zip(completions, solution):
        found = boxes(completion[0]["content"])
        rewards.append(float(bool(found) and len(found) == 1 and found[0].replace(" ", "") == sol.replace(" ", "")))
    return rewards
