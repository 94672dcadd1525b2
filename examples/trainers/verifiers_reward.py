from merit_rl.verifiers import task_reward

merit = task_reward("reward.py", ground_truth="answer")
