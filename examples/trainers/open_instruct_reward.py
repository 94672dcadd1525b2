from merit_rl.open_instruct import verifier

Merit = verifier("merit", "reward.py")
