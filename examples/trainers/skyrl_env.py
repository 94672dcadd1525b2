import skyrl_gym

skyrl_gym.register("merit", entry_point="merit_rl.skyrl_gym:MeritEnv", kwargs={"reward": "reward.py"})
