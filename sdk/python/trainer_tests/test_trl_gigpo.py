"""GiGPO's credit in TRL's GRPOTrainer: a rollout of two turns in which the first leads to one of two rooms."""

import pytest
import torch
from datasets import Dataset

from test_trl import settings, weights

EOS = 1
ENTRANCE, LEFT, RIGHT = "entrance", "left room", "right room"


def rollout(tokenizer, said):
    """TRL's rollout_func: each episode goes left, left, left, right, and answers what ``said`` has for it."""

    def rollout_func(prompts, trainer):
        encode = lambda text: tokenizer(text)["input_ids"]  # noqa: E731
        out = {
            "prompt_ids": [encode(p) for p in prompts],
            "completion_ids": [],
            "logprobs": [],
            "env_mask": [],
            "anchors": [],
        }
        for i in range(len(prompts)):
            turns = [(encode("go"), 1), (encode(" room "), 0), (encode(said[i]), 1), ([EOS], 1)]
            ids = [token for text, _ in turns for token in text]
            out["completion_ids"].append(ids)
            out["env_mask"].append([mask for text, mask in turns for _ in text])
            out["logprobs"].append([0.0] * len(ids))
            out["anchors"].append([ENTRANCE, RIGHT if i % 4 == 3 else LEFT])
        return out

    return rollout_func


def test_example_gives_each_turn_its_credit(example, model, tokenizer, tmp_path):
    """Promise: the example's advantages are GiGPO's, one for each turn, on the tokens that the model sampled and
    nowhere else; TRL's loss takes them and moves the weights."""
    module = example("trl_gigpo")
    seen = []

    class Kept(module.Trainer):
        def _generate_and_score_completions(self, inputs):
            output = super()._generate_and_score_completions(inputs)
            seen.append({k: output[k].clone() for k in ("advantages", "tool_mask", "completion_mask")})
            return output

    module.Trainer, before = Kept, weights(model)
    data = Dataset.from_list(
        [{"prompt": "1 + 1 = ", "ground_truth": "2"}, {"prompt": "2 + 2 = ", "ground_truth": None}]
    )
    trainer = module.build(model, tokenizer, data, rollout(tokenizer, ["2", "3", "3", "2"] * 2), **settings(tmp_path))
    trainer.train()
    assert trainer.state.global_step == 2
    assert not torch.equal(before, weights(model))

    # By hand, with γ = 0.95 and without the deviation: scores 1 0 0 1, so A_E = ±0.5. Of the returns to go the
    # first turns, all in one state, have γ 0 0 γ; the second ones 1 0 0 in the left room and, alone, 1 in the right.
    entrance = [0.5 + 0.475, -0.5 - 0.475, -0.5 - 0.475, 0.5 + 0.475]
    rooms = [0.5 + 2 / 3, -0.5 - 1 / 3, -0.5 - 1 / 3, 0.5 + 0.0]
    for batch in seen:
        scored = batch["advantages"].abs().sum(dim=1) > 0
        assert scored.sum() == 4, "the prompt without a ground truth has no score, so no advantage"
        rows = batch["advantages"][scored]
        assert torch.all(rows[:, 2:8] == 0) and torch.all(batch["tool_mask"][scored][:, 2:8] == 0)
        for row, first, second in zip(rows, entrance, rooms):
            assert row[:2].tolist() == pytest.approx([first] * 2, abs=1e-5)
            assert row[8:10].tolist() == pytest.approx([second] * 2, abs=1e-5)


def test_states_are_what_the_environment_said(example, model, tokenizer, tmp_path):
    """Promise: without anchors the tokens before a turn are its state, here the same in every episode."""
    module = example("trl_gigpo")
    func = rollout(tokenizer, ["2", "3", "3", "2"])
    seen = []

    class Kept(module.Trainer):
        def _generate_and_score_completions(self, inputs):
            output = super()._generate_and_score_completions(inputs)
            seen.append(output["advantages"].clone())
            return output

    module.Trainer = Kept
    data = Dataset.from_list([{"prompt": "1 + 1 = ", "ground_truth": "2"}])
    without = lambda prompts, trainer: {k: v for k, v in func(prompts, trainer).items() if k != "anchors"}  # noqa: E731
    module.build(model, tokenizer, data, without, **{**settings(tmp_path), "per_device_train_batch_size": 4}).train()
    for row, sign in zip(seen[0], (1, -1, -1, 1)):
        assert row[8].item() == pytest.approx(sign * (0.5 + 0.5), abs=1e-5)


def test_a_failed_reward_beside_others(example, model, tokenizer, tmp_path, caplog):
    """Promise: of several rewards a completion has no score that one of them failed to give; the baseline is the
    others', its advantage is 0, TRL's log leaves it out, and the reward that failed is named."""
    module = example("trl_gigpo")
    kept = []

    class Kept(module.Trainer):
        def _generate_and_score_completions(self, inputs):
            output = super()._generate_and_score_completions(inputs)
            kept.append(output["advantages"].clone())
            return output

    def fails(completions, **_):
        return [1.0, 3.0, None, float("nan")] * (len(completions) // 4)

    def constant(completions, **_):
        return [2.0] * len(completions)

    module.Trainer = Kept
    data = Dataset.from_list([{"prompt": "1 + 1 = ", "ground_truth": "2"}])
    func = rollout(tokenizer, ["2", "2", "2", "2"])
    trainer = module.build(
        model, tokenizer, data, func, **{**settings(tmp_path), "per_device_train_batch_size": 4, "max_steps": 1}
    )
    trainer.reward_funcs += [fails, constant]
    trainer.reward_func_names += ["fails", "constant"]
    trainer.reward_processing_classes += [None, None]
    trainer.reward_weights = torch.tensor([1.0, 0.5, 1.0])
    trainer.train()
    # Scores 1 + .5·1 + 2 and 1 + .5·3 + 2 of the first two; the others have none.
    assert kept[0][0, 0].item() == pytest.approx(-0.5 * 1.95, abs=1e-5)
    assert kept[0][1, 0].item() == pytest.approx(0.5 * 1.95, abs=1e-5)
    assert torch.all(kept[0][2:] == 0)
    assert [log["reward"] for log in trainer.state.log_history if "reward" in log] == [4.0]
    said = [r.getMessage() for r in caplog.records if r.name == "merit_rl"]
    assert len(said) == 1 and said[0].startswith("fails: it gives no score to 2 of 4 completions")


def test_rewards_one_by_one(example, model, tokenizer, tmp_path):
    """Promise: gdpo compares each of the reward_funcs by itself, with TRL's reward_weights: one that always gives
    the same adds nothing, and the scale of another does not matter."""
    said = ["2", "3", "3", "2"]
    func, data = rollout(tokenizer, said), Dataset.from_list([{"prompt": "1 + 1 = ", "ground_truth": "2"}])
    constant = lambda completions, **_: [2.0] * len(completions)  # noqa: E731
    large = lambda completions, **_: [0.0, 9000.0, 0.0, 0.0] * (len(completions) // 4)  # noqa: E731
    row = advantages_of(example, model, tokenizer, tmp_path, func, data, {"estimator": "gdpo"}, [constant, large])
    # By hand: (½ −½ −½ ½)/√⅓, plus half of (−¼ ¾ −¼ −¼)/½, then whitened over the four episodes of the batch.
    z = torch.tensor([0.5, -0.5, -0.5, 0.5]) / (1 / 3) ** 0.5 + 0.5 * torch.tensor([-0.25, 0.75, -0.25, -0.25]) / 0.5
    assert torch.allclose(row, (z - z.mean()) / z.std(), atol=1e-4)


def test_roles_and_greedy_scores(example, model, tokenizer, tmp_path):
    """Promise: rae reads roles that a rollout returns, remax a column greedy_score of the dataset."""
    func = rollout(tokenizer, ["2", "3", "3", "2"])

    def with_roles(prompts, trainer):
        return {**func(prompts, trainer), "roles": [["buyer", "seller"]] * len(prompts)}

    data = Dataset.from_list([{"prompt": "1 + 1 = ", "ground_truth": "2", "greedy_score": 0.25}])
    run = lambda f, estimator: advantages_of(  # noqa: E731
        example, model, tokenizer, tmp_path, f, data, {"estimator": estimator}, []
    )
    assert run(with_roles, "rae").tolist() == pytest.approx([0, 0, 0, 0])
    assert run(func, "remax").tolist() == pytest.approx([0.75, -0.25, -0.25, 0.75])
    with pytest.raises(Exception, match="there is no role"):
        run(func, "rae")


def advantages_of(example, model, tokenizer, tmp_path, func, data, credit, more):
    """What the first token of four completions gets in one step of training."""
    module, kept = example("trl_gigpo"), []

    class Kept(module.Trainer):
        def _generate_and_score_completions(self, inputs):
            output = super()._generate_and_score_completions(inputs)
            kept.append(output["advantages"][:, 0].clone())
            return output

    Kept.credit = credit
    module.Trainer = Kept
    limits = {**settings(tmp_path), "per_device_train_batch_size": 4, "max_steps": 1}
    trainer = module.build(model, tokenizer, data, func, **limits)
    trainer.reward_funcs += more
    trainer.reward_func_names += ["same"] * len(more)
    trainer.reward_processing_classes += [None] * len(more)
    trainer.reward_weights = torch.tensor([1.0, 1.0, 0.5][: 1 + len(more)])
    trainer.train()
    return kept[0]
