from merit_rl import Reward, Rewards
from trl import GRPOConfig, GRPOTrainer


def brevity(completions, **kwargs):
    return [-len(c) / 100 for c in completions]


def build(model, tokenizer, dataset, **settings):
    return GRPOTrainer(
        model,
        reward_funcs=Rewards({"right": Reward("reward.py"), "brevity": brevity}, weights=[1.0, 0.2]),
        args=GRPOConfig(**settings),
        train_dataset=dataset,
        processing_class=tokenizer,
    )
