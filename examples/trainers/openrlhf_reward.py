from merit_rl.openrlhf import function

reward_func = function("reward.py")
