from merit_rl.slime import function

custom_rm = function("reward.py")
