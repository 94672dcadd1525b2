from merit_rl import Reward
from trl import GRPOConfig, GRPOTrainer


def build(model, tokenizer, dataset, **settings):
    """dataset has the columns prompt and ground_truth; every other one reaches the reward as well."""
    return GRPOTrainer(
        model,
        reward_funcs=Reward("reward.py", fuel=2_000_000_000),
        args=GRPOConfig(**settings),
        train_dataset=dataset,
        processing_class=tokenizer,
    )
