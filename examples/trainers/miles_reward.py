from merit_rl.miles import function

custom_rm = function("reward.py", on_unscored=0.5)
