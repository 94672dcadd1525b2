from datasets import Dataset
from merit_rl.environments import EnvironmentServer, trl_factory
from trl import GRPOConfig, GRPOTrainer


def build(model, tokenizer, environment="sokoban", options=None, tasks=1000, **settings):
    """An environment of Merit's, whose actions are tools and whose reward is the sum of the episode's."""
    server = EnvironmentServer(environment, options=options)
    return GRPOTrainer(
        model,
        args=GRPOConfig(**settings),
        train_dataset=Dataset.from_list(server.tasks(tasks)),
        processing_class=tokenizer,
        environment_factory=trl_factory(server),
    )
