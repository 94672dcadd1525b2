"""An agent as people write them, with smolagents: it knows nothing of Merit.

Its model is behind an OpenAI-compatible API, its tools are two functions."""

import os
import sys

from smolagents import OpenAIServerModel, ToolCallingAgent, tool


@tool
def price(item: str) -> float:
    """The price of an item of the shop, in euros.

    Args:
        item: what is sold, for example "tea".
    """
    return {"tea": 3.5, "coffee": 4.25, "cake": 2.75}[item]


@tool
def add(a: float, b: float) -> float:
    """The sum of two numbers.

    Args:
        a: a number.
        b: another number.
    """
    return a + b


model = OpenAIServerModel(os.environ.get("MODEL", "local"), api_base=os.environ["OPENAI_BASE_URL"], api_key=os.environ.get("OPENAI_API_KEY", "none"))
agent = ToolCallingAgent([price, add], model, max_steps=6, verbosity_level=0, name="clerk", description="knows the prices")
question = sys.argv[1] if len(sys.argv) > 1 else "What do a tea and a cake cost together?"
print(agent.run(question))
