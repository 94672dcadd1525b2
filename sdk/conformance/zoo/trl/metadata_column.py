def info_reward(completions, info, **kwargs):
    return [float(sum(m["role"] == "assistant" for m in c) >= i["hops"]) for c, i in zip(completions, info)]
