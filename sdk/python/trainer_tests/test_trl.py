"""TRL's GRPOTrainer, as published, with Merit rewards: two real steps of a model that is built here."""

import math

import pytest
import torch
from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer

from merit_rl import Reward

# How much of the answer stands before "n"; no score where the row says so; without end where it says so.
LETTERS = """
from merit_reward import EvaluateResult, MetricResult

def score(messages, ground_truth=None, **kwargs):
    if ground_truth == "unknown":
        return EvaluateResult(is_score_valid=False, reason="nobody knows")
    while ground_truth == "endless":
        pass
    n = sum(c < "n" for c in messages[-1].text)
    return EvaluateResult(score=n / 16, metrics={"seen": MetricResult(score=8, is_score_valid=True)})
"""
LENGTH = "def score(messages, **kwargs):\n    return len(messages[-1].text) / 100\n"


def settings(folder, **more):
    return dict(
        output_dir=str(folder),
        per_device_train_batch_size=8,
        num_generations=4,
        max_completion_length=8,
        max_steps=2,
        learning_rate=1e-2,
        logging_steps=1,
        report_to=[],
        use_cpu=True,
        bf16=False,
        gradient_checkpointing=False,
        disable_tqdm=True,
        save_strategy="no",
        **more,
    )


def dataset(*truths):
    return Dataset.from_list([{"prompt": f"{i} + {i} = ", "ground_truth": truth} for i, truth in enumerate(truths)])


def weights(model):
    return torch.cat([p.detach().flatten().clone() for p in model.parameters()])


def seen(trainer, key):
    return [log[key] for log in trainer.state.log_history if key in log]


class Recorded(GRPOTrainer):
    """TRL's trainer, which keeps what it made of the rewards."""

    def _calculate_rewards(self, *args):
        self.seen_rewards = super()._calculate_rewards(*args)
        return self.seen_rewards

    def _generate_and_score_completions(self, inputs):
        output = super()._generate_and_score_completions(inputs)
        self.seen_advantages = output["advantages"]
        return output


def trained(model, tokenizer, folder, reward_funcs, data, kind=GRPOTrainer, **more):
    args = GRPOConfig(**settings(folder, **more))
    trainer = kind(model, reward_funcs=reward_funcs, args=args, train_dataset=data, processing_class=tokenizer)
    trainer.train()
    assert trainer.state.global_step == 2
    return trainer


def test_example_takes_two_steps(example, model, tokenizer, tmp_path):
    """Promise: the example of the docs trains in TRL."""
    trainer = example("with_trl").build(model, tokenizer, dataset("0", "2"), **settings(tmp_path))
    trainer.train()
    assert trainer.state.global_step == 2
    assert all(0 <= r <= 1 for r in seen(trainer, "reward")) and len(seen(trainer, "reward")) == 2


def test_scores_move_the_weights(model, tokenizer, rewards, tmp_path):
    """Promise: the scores reach TRL's gradient, and are the numbers that the reward gave."""
    before = weights(model)
    trainer = trained(model, tokenizer, tmp_path, Reward(rewards(LETTERS)), dataset("0", "2"), Recorded)
    assert not torch.equal(before, weights(model))
    assert all(0 < r < 1 for r in seen(trainer, "reward"))
    sixteenths = trainer.seen_rewards[:, 0] * 16
    assert torch.equal(sixteenths, sixteenths.round())


@pytest.mark.parametrize("truth", ["unknown", "endless"])
def test_no_score_is_no_number(truth, model, tokenizer, rewards, tmp_path):
    """Promise: what has no score, by its author's word or because it ran out of fuel, is NaN in TRL, moves
    no baseline and has no advantage; the others are compared among themselves."""
    reward = Reward(rewards(LETTERS), fuel=200_000_000)
    trainer = trained(model, tokenizer, tmp_path, reward, dataset("0", truth), Recorded)
    none = torch.isnan(trainer.seen_rewards[:, 0])
    assert none.sum() == 4
    assert torch.all(trainer.seen_advantages[none] == 0)
    assert abs(trainer.seen_advantages[~none].mean()) < 1e-5
    assert all(math.isfinite(r) for r in seen(trainer, "reward"))


def test_several_rewards_with_weights(model, tokenizer, rewards, tmp_path):
    """Promise: Merit rewards stand beside each other and beside functions, each with its weight; where one has
    no score the others count."""
    two = lambda completions, **_: [2.0] * len(completions)  # noqa: E731
    funcs = [Reward(rewards(LETTERS, "letters.py")), Reward(rewards(LENGTH, "length.py")), two]
    trainer = trained(
        model, tokenizer, tmp_path, funcs, dataset("0", "unknown"), Recorded, reward_weights=[1.0, 0.5, 0.25]
    )
    given = trainer.seen_rewards
    assert given.shape == (8, 3) and torch.isnan(given[:, 0]).sum() == 4 and not torch.isnan(given[:, 1:]).any()
    want = (given * torch.tensor([1.0, 0.5, 0.25])).nansum(dim=1).mean()
    assert seen(trainer, "reward")[-1] == pytest.approx(want.item(), abs=1e-4)
    names = [key for key in trainer.state.log_history[0] if key.startswith("rewards/") and key.endswith("/mean")]
    assert len(names) == 3


def test_asynchronous(model, tokenizer, rewards, tmp_path):
    """Promise: .aio is awaited by TRL beside others of its kind, with the same numbers."""
    reward = Reward(rewards(LETTERS))
    trainer = trained(model, tokenizer, tmp_path, [reward.aio, reward], dataset("0", "unknown"), Recorded)
    assert trainer._has_async_funcs
    awaited, called = trainer.seen_rewards.T
    assert torch.equal(awaited.nan_to_num(-1), called.nan_to_num(-1)) and torch.isnan(awaited).sum() == 4


def test_metrics_arrive(model, tokenizer, rewards, tmp_path):
    """Promise: TRL logs how many completions had no score, by outcome, and the reward's own metrics."""
    reward = Reward(rewards(LETTERS), name="letters")
    trainer = trained(model, tokenizer, tmp_path, reward, dataset("0", "unknown"))
    assert seen(trainer, "merit/unscored") == [4, 4] and seen(trainer, "merit/invalid") == [4, 4]
    assert seen(trainer, "letters/seen") == [8, 8]
