import torch


def reward_func(queries, prompts, labels):
    return torch.tensor([1.0 if label in query else 0.0 for query, label in zip(queries, labels)])
