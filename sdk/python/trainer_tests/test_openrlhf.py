"""OpenRLHF 0.11, as published, with a Merit reward: its executor loads the function file and calls it."""

import asyncio
from types import SimpleNamespace

import pytest
from openrlhf.utils.agent import SingleTurnAgentExecutor

from merit_rl import Halt
from merit_rl.openrlhf import function


class Engine:
    """Stands in for vLLM: it says what it was told to say."""

    def __init__(self, tokenizer, answer):
        self.ids, self.answer = tokenizer(answer)["input_ids"], answer

    async def generate(self, tokens, params, multi_modal_data=None):
        output = SimpleNamespace(token_ids=self.ids, text=self.answer, finish_reason="stop", logprobs=None)
        return SimpleNamespace(outputs=[output])


def execute(file, tokenizer, answer, label):
    executor = SingleTurnAgentExecutor(str(file))
    params = SimpleNamespace(max_tokens=8, logprobs=None)
    return asyncio.run(executor.execute("2 + 2 = ", label, params, 64, tokenizer, Engine(tokenizer, answer)))


def test_example(tokenizer):
    """Promise: OpenRLHF loads the function file of the docs and gets its scores; the step ends where there is none."""
    for answer, want in (("4", 1.0), ("5", 0.0)):
        said = execute("openrlhf_reward.py", tokenizer, answer, "4")
        assert said["reward"].tolist() == [want] and said["scores"].tolist() == [want]
    with pytest.raises(Halt, match="no ground truth"):
        execute("openrlhf_reward.py", tokenizer, "4", None)


def test_experience(tokenizer):
    """Promise: what it got becomes an experience with one reward, as OpenRLHF's sampler makes it."""
    import torch

    said = execute("openrlhf_reward.py", tokenizer, "4", "4")
    assert torch.tensor([said["reward"]]).shape == (1,)  # samples_generator.py, _process_response_into_experience


def test_chosen_number(tokenizer, tmp_path):
    """Promise: a number that the operator chose stands for no score, and the step goes on."""
    file = tmp_path / "mine.py"
    file.write_text('from merit_rl.openrlhf import function\nreward_func = function("reward.py", on_unscored=-1.0)\n')
    assert execute(file, tokenizer, "4", None)["reward"].tolist() == [-1.0]


def test_prompt_and_answer_are_told_apart(rewards):
    """Promise: the reward sees the prompt and the answer as two messages; where they cannot be told apart the step ends."""
    path = rewards("def score(messages, **kwargs):\n    return float([m.text for m in messages] == ['2 + 2 = ', '4'])")
    score = function(path)
    for query in ("2 + 2 = 4", "<s>2 + 2 = 4</s>", "2 + 2 = 4<|im_end|>"):
        assert score([query], ["2 + 2 = "], ["4"])["rewards"].tolist() == [1.0]
    with pytest.raises(Halt, match="does not begin with"):
        score(["another text"], ["2 + 2 = "], ["4"])
