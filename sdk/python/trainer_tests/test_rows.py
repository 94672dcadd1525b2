"""What the libraries of trainers hold reaches a reward: numpy, torch, OmegaConf, datasets, pydantic, pandas."""

import json

import datasets
import numpy as np
import pandas
import pydantic
import pytest
import torch
from omegaconf import OmegaConf
from openai.types.chat import ChatCompletionMessage

from merit_rl import Reward

# A score that says whether a column, or what was said, is what JSON makes of it: the reward gets that as text.
SEES = """
import json

def sees(completions, want, seen=None, **kwargs):
    return [float(json.dumps(s, sort_keys=True) == w) for s, w in zip(seen, want)]

def says(completions, want, **kwargs):
    told = [{k: v for k, v in m.items() if v is not None} for m in completions[0]]
    return [float(json.dumps(told, sort_keys=True) == want[0])]
"""


class Level(pydantic.BaseModel):
    name: str
    hints: list[str] | None = None


@pytest.mark.parametrize(
    "column, want",
    [
        (np.array([1.5, 2.5]), [1.5, 2.5]),
        (np.array([[1, 2], [3, 4]]), [[1, 2], [3, 4]]),
        (np.array([{"a": np.int64(1)}, {"a": np.array([2])}], dtype=object), [{"a": 1}, {"a": [2]}]),
        ([np.float32(0.5), np.str_("x")], [0.5, "x"]),
        ([np.bool_(True), None], [True, None]),
        (torch.tensor([1, 2]), [1, 2]),
        ([torch.tensor([1.5], dtype=torch.bfloat16), torch.tensor(3)], [[1.5], 3]),
        (OmegaConf.create([{"a": [1, {"b": 2}]}, {"a": []}]), [{"a": [1, {"b": 2}]}, {"a": []}]),
        (datasets.Dataset.from_dict({"x": [{"k": [1]}, {"k": []}]})["x"], [{"k": [1]}, {"k": []}]),
        (pandas.Series(["a", "b"]), ["a", "b"]),
        ([Level(name="easy", hints=["x"]), Level(name="hard")], [{"name": "easy", "hints": ["x"]}, {"name": "hard", "hints": None}]),
        (['{"a": 1}', "null"], ['{"a": 1}', "null"]),
        ([float("nan"), [float("inf")]], [None, [None]]),
    ],
)
def test_columns(column, want, rewards):
    """Promise: a column reaches the reward as what its values are, whatever library holds them."""
    texts = [json.dumps(w, sort_keys=True) for w in want]
    assert Reward(rewards(SEES) + ":sees")(completions=["a", "b"], seen=column, want=texts) == [1.0, 1.0]


def test_names(rewards):
    """Promise: columns may be called what Merit's own fields are called."""
    text = """
def named(completions, prompts, id, group, task, metadata, data_source, extra_info, **kwargs):
    return [float([i, g, t, m, d, e, c, p] == [7, "g", "sums", "{}", None, {"x": None}, "a", "q"])
            for i, g, t, m, d, e, c, p in zip(id, group, task, metadata, data_source, extra_info, completions, prompts)]
"""
    columns = dict(id=[7], group=["g"], task=["sums"], metadata=["{}"], data_source=[None], extra_info=[{"x": None}])
    assert Reward(rewards(text))(prompts=["q"], completions=["a"], **columns) == [1.0]


def test_messages_of_clients(rewards):
    """Promise: messages that are models of pydantic arrive with all their fields, tool calls too."""
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": '{"x": 1}'}}
    said = ChatCompletionMessage.model_validate({"role": "assistant", "content": "a", "tool_calls": [call], "reasoning_content": "r"})
    want = json.dumps([{k: v for k, v in said.model_dump().items() if v is not None}], sort_keys=True)
    score = Reward(rewards(SEES) + ":says")
    assert score(prompts=[[{"role": "user", "content": "q"}]], completions=[[said]], want=[want]) == [1.0]
