"""Assistant turns, minus a half for each that does not search."""


def turns_reward(completions, **kwargs):
    out = []
    for messages in completions:
        turns = [m for m in messages if m["role"] == "assistant"]
        out.append(len(turns) - 0.5 * sum("<search>" not in (m["content"] or "") for m in turns))
    return out
