"""eval-protocol: a RewardFunction whose function runs on the server. Its key is read from FIREWORKS_API_KEY."""

from eval_protocol.reward_function import RewardFunction

reward = RewardFunction(mode="remote", endpoint="http://127.0.0.1:8700/v1/rewards/answer/evaluate")

if __name__ == "__main__":
    chat = [{"role": "user", "content": "2 + 2?"}, {"role": "assistant", "content": "It is 4"}]
    print(reward(chat, ground_truth="4").score)
