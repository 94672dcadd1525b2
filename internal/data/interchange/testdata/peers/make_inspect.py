"""Writes inspect.eval and inspect.json, logs of inspect-ai 0.3.285: two samples in two epochs with
a tool, a scorer that decides and one that does not.

    pip install inspect-ai==0.3.285 && python make_inspect.py
"""

import glob
import os
import shutil
import tempfile

from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelAPI, ModelOutput, get_model
from inspect_ai.scorer import Score, accuracy, includes, scorer
from inspect_ai.solver import generate, use_tools
from inspect_ai.tool import tool


@tool
def price():
    async def execute(item: str):
        """The price of an item.

        Args:
            item: its name
        """
        return "3.5"

    return execute


@scorer(metrics=[accuracy()])
def undecided():
    async def score(state, target):
        return Score.unscored(explanation="cannot say")

    return score


def answer(messages, tools, tool_choice, config):
    if messages[-1].role == "tool":
        return ModelOutput.from_content("mockllm/model", "The price is 3.5.")
    if "tea" in messages[-1].text:
        return ModelOutput.for_tool_call("mockllm/model", "price", {"item": "tea"})
    return ModelOutput.from_content("mockllm/model", "London")


async def count(self, text):
    return len(text) // 4  # the estimate would download an encoding


ModelAPI.count_text_tokens = count
samples = [
    Sample(id="tea", input="What does tea cost?", target="3.5", metadata={"level": 1}),
    Sample(id="city", input="The capital of France?", target=["Paris", "paris"]),
]
for form in ["eval", "json"]:
    with tempfile.TemporaryDirectory() as folder:
        task = Task(dataset=samples, solver=[use_tools(price()), generate()], scorer=[includes(), undecided()], epochs=2, name="shop")
        model = get_model("mockllm/model", custom_outputs=answer)
        eval(task, model=model, log_format=form, log_dir=folder, display="none", max_samples=1, fail_on_error=False)
        shutil.copy(glob.glob(os.path.join(folder, "*." + form))[0], "inspect." + form)
