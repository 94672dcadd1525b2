"""TRL's GRPOTrainer, as published, with Merit rewards: two real steps of a model that is built here."""

import math

import pytest
import torch
from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer

from merit_rl import Reward, Rewards

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


def constant(completions, **_):
    return [2.0] * len(completions)


def half_failed(completions, **_):
    """1, 1, no score, no score in each group of four."""
    return [1.0, 1.0, None, math.nan] * (len(completions) // 4)


def test_several_rewards_with_weights(model, tokenizer, rewards, tmp_path):
    """Promise: several rewards are one for TRL: their weighted sum, which a completion has that all scored. What one
    of them failed to score counts in no baseline and has advantage 0. TRL's log has each of them by name."""
    parts = {"letters": Reward(rewards(LETTERS)), "length": rewards(LENGTH, "length.py"), "constant": constant}
    func = Rewards(parts, [1.0, 0.5, 0.25])
    trainer = trained(model, tokenizer, tmp_path, func, dataset("0", "unknown"), Recorded)
    given = trainer.seen_rewards[:, 0]
    assert torch.isnan(given).sum() == 4 and torch.all(given[~torch.isnan(given)] > 0.5)
    assert torch.all(trainer.seen_advantages[torch.isnan(given)] == 0)
    assert abs(trainer.seen_advantages[~torch.isnan(given)].mean()) < 1e-5
    assert seen(trainer, "reward")[-1] == pytest.approx(given.nanmean().item(), abs=1e-4)
    means = {name: seen(trainer, f"rewards/{name}/mean") for name in (*parts, "total")}
    assert means["constant"] == [2.0, 2.0] and all(len(m) == 2 for m in means.values())
    assert seen(trainer, "rewards/constant/std") == [0, 0] and seen(trainer, "merit/total/unscored") == [4, 4]
    assert {"letters", "length", "constant"} <= set(trainer._logs["extra"])


@pytest.mark.parametrize("kind", [lambda f: f, lambda f: f.aio])
def test_a_failed_reward_beside_a_constant(kind, model, tokenizer, tmp_path):
    """Promise: rewards 1, 1, none, none beside a constant are advantages 0 0 0 0, not .866 .866 −.866 −.866."""
    func = kind(Rewards([half_failed, constant]))
    trainer = trained(model, tokenizer, tmp_path, func, dataset("0", "2"), Recorded)
    assert trainer.seen_rewards[:, 0].nan_to_num(-1).tolist() == [3, 3, -1, -1] * 2
    assert trainer.seen_advantages.tolist() == [0] * 8


def test_beside_others(model, tokenizer, rewards, tmp_path, caplog):
    """Promise: a reward that stands beside others in TRL says that TRL counts its failures as 0, and names the way out."""
    funcs = [Reward(rewards(LETTERS), name="letters"), Reward(rewards(LENGTH), name="length"), constant]
    trainer = trained(model, tokenizer, tmp_path, funcs, dataset("0", "unknown"), Recorded)
    assert trainer.seen_rewards.shape == (8, 3) and torch.isnan(trainer.seen_rewards[:, 0]).sum() == 4
    said = [r.getMessage() for r in caplog.records if "counts a missing score as 0" in r.getMessage()]
    assert [text.split(",")[0] for text in said] == [
        "letters: the trainer adds its scores to those of length",
        "length: the trainer adds its scores to those of letters",
    ]
    assert all("reward_funcs=merit_rl.Rewards(" in text for text in said)


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
    assert seen(trainer, "merit/letters/unscored") == [4, 4] and seen(trainer, "merit/letters/invalid") == [4, 4]
    assert seen(trainer, "letters/seen") == [8, 8]


def test_figures_of_two_rewards(model, tokenizer, rewards, tmp_path):
    """Promise: the figures of two rewards are not averaged: one has 4 completions without a score, the other none."""
    funcs = Rewards({"letters": Reward(rewards(LETTERS), name="letters"), "length": Reward(rewards(LENGTH), name="length")})
    trainer = trained(model, tokenizer, tmp_path, funcs, dataset("0", "unknown"))
    assert seen(trainer, "merit/letters/unscored") == [4, 4] and seen(trainer, "merit/length/unscored") == [0, 0]


BEST = """
from merit_reward import reward_function

@reward_function(mode="batch")
def best(rollouts_messages, **kwargs):
    sizes = [m[-1].text.count("a") + len(m[-1].text) / 100 for m in rollouts_messages]
    return [float(sum(s < other for other in sizes)) + 10 * len(sizes) for s in sizes]
"""


def test_groups_are_the_trainers(model, tokenizer, rewards, tmp_path):
    """Promise: two rows of the data that have the same prompt and different truths are two groups, as they are for TRL."""
    data = Dataset.from_list([{"prompt": "1 + 1 = ", "ground_truth": truth} for truth in ("2", "two")])
    trainer = trained(model, tokenizer, tmp_path, Reward(rewards(BEST)), data, Recorded)
    assert set((trainer.seen_rewards // 10).flatten().tolist()) == {4.0}, "each saw three others"


def test_example_of_several_rewards(example, model, tokenizer, tmp_path):
    """Promise: the docs' example of several rewards trains in TRL, and its log has each of them."""
    trainer = example("trl_several").build(model, tokenizer, dataset("0", None), **settings(tmp_path))
    trainer.train()
    assert trainer.state.global_step == 2
    assert len(seen(trainer, "rewards/brevity/mean")) == 2 and seen(trainer, "merit/total/unscored") == [4, 4]
