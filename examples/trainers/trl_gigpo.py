from merit_rl import Reward
from merit_rl.trl import StepCredit
from trl import GRPOConfig, GRPOTrainer


class Trainer(StepCredit, GRPOTrainer):
    credit = {"estimator": "gigpo", "gamma": 0.95}


def build(model, tokenizer, dataset, rollout, **settings):
    """rollout is TRL's rollout_func: its env_mask says which tokens are the environment's."""
    return Trainer(
        model,
        reward_funcs=Reward("reward.py"),
        args=GRPOConfig(**settings),
        train_dataset=dataset,
        processing_class=tokenizer,
        rollout_func=rollout,
    )
