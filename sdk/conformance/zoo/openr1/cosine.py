import math


def get_cosine_scaled_reward(min_wrong=-1.0, max_wrong=-0.5, min_right=0.5, max_right=1.0, max_len=300):
    def cosine_scaled_reward(completions, solution, **kwargs):
        rewards = []
        for content, sol in zip([c[0]["content"] for c in completions], solution):
            right = sol.strip("$").split("=")[-1].strip() in content
            gen_len = min(len(content), max_len)
            cosine = math.cos(gen_len / max_len * math.pi)
            low, high = (min_right, max_right) if right else (max_wrong, min_wrong)
            rewards.append(float(low + 0.5 * (high - low) * (1.0 + cosine)))
        return rewards

    return cosine_scaled_reward


reward = get_cosine_scaled_reward()
