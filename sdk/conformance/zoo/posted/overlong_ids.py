def overlong(max_length, cache):
    def punish(completion_ids, **kwargs):
        over = [len(ids) - (max_length - cache) for ids in completion_ids]
        return [-min(1.0, max(0, n) / cache) for n in over]

    return punish


overlong_reward = overlong(20, 8)
