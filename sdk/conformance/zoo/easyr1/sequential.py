REWARD_NAME = "length"
REWARD_TYPE = "sequential"


def compute_score(reward_input):
    right = reward_input["ground_truth"] in reward_input["response"]
    return {"overall": float(right) * 0.9 + 0.1 * (len(reward_input["response"]) < 200), "accuracy": float(right)}
