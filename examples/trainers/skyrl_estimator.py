from merit_rl import skyrl

skyrl.register("gigpo", omega=0.5)
