"""An agent as people write them, with the package anthropic: it knows nothing of Merit.

It streams its answers, thinks, runs two tools, and lets a sub-agent do a part of the work.
ANTHROPIC_BASE_URL says where the model is."""

import os
import sys

from anthropic import Anthropic

PRICES = {"tea": 3.5, "coffee": 4.25, "cake": 2.75}
TOOLS = [
    {"name": "price", "description": "The price of an item of the shop, in euros.",
     "input_schema": {"type": "object", "properties": {"item": {"type": "string"}}, "required": ["item"]}},
    {"name": "task", "description": "Lets another agent do a part of the work.",
     "input_schema": {"type": "object", "properties": {"prompt": {"type": "string"}}, "required": ["prompt"]}},
]
client = Anthropic()


def run(prompt: str, system: str, tools: list) -> str:
    messages = [{"role": "user", "content": prompt}]
    for _ in range(8):
        with client.messages.stream(
            model=os.environ.get("MODEL", "local"), max_tokens=2048, thinking={"type": "enabled", "budget_tokens": 1024},
            system=[{"type": "text", "text": system, "cache_control": {"type": "ephemeral"}}], messages=messages, tools=tools,
        ) as stream:
            said = stream.get_final_message()
        messages.append({"role": "assistant", "content": said.content})
        results = [result(block) for block in said.content if block.type == "tool_use"]
        if not results:
            return "".join(block.text for block in said.content if block.type == "text")
        messages.append({"role": "user", "content": results})
    raise RuntimeError("the model did not finish")


def result(call) -> dict:
    try:
        if call.name == "task":
            text = run(call.input["prompt"], "You know the prices of a shop.", TOOLS[:1])
        else:
            text = str(PRICES[call.input["item"]])
        return {"type": "tool_result", "tool_use_id": call.id, "content": text}
    except KeyError as missing:
        return {"type": "tool_result", "tool_use_id": call.id, "content": f"no such item: {missing}", "is_error": True}


question = sys.argv[1] if len(sys.argv) > 1 else "What do a tea and a cake cost together?"
tokens = client.messages.count_tokens(model=os.environ.get("MODEL", "local"), messages=[{"role": "user", "content": question}])
print(f"{tokens.input_tokens} tokens asked:", run(question, "You answer questions about a shop.", TOOLS))
