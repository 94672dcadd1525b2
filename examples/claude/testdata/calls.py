"""Calls of every kind with the package anthropic: what a caller gets, one line each."""

import anthropic

client = anthropic.Anthropic(max_retries=0)
TOOLS = [{"name": "price", "description": "The price of an item.", "cache_control": {"type": "ephemeral"},
          "input_schema": {"type": "object", "properties": {"item": {"type": "string"}}, "required": ["item"]}}]
COMMON = dict(model="local", max_tokens=2048, system=[{"type": "text", "text": "You know prices.", "cache_control": {"type": "ephemeral"}}])


def whole(messages, **more):
    return client.messages.create(messages=messages, **COMMON, **more)


def streamed(messages, **more):
    with client.messages.stream(messages=messages, **COMMON, **more) as stream:
        return stream.get_final_message()


def show(name, call):
    try:
        result = call()
    except Exception as e:  # what the caller of the package would see
        answer = getattr(e, "response", None)
        result = f"{type(e).__name__} {getattr(e, 'status_code', None)} {str(e)[:80]} retry-after={answer.headers.get('retry-after') if answer else None}"
    print(name, "->", result)


def text(ask, words):
    return ask([{"role": "user", "content": words}]).content[-1].text


def tools(ask):
    messages = [{"role": "user", "content": [{"type": "text", "text": "What does tea cost?", "cache_control": {"type": "ephemeral"}}]}]
    for _ in range(3):
        said = ask(messages, tools=TOOLS, thinking={"type": "enabled", "budget_tokens": 1024})
        messages.append({"role": "assistant", "content": said.content})
        results = [{"type": "tool_result", "tool_use_id": b.id, "content": [{"type": "text", "text": "3.5"}], "cache_control": {"type": "ephemeral"}}
                   for b in said.content if b.type == "tool_use"]
        if not results:
            return said.content[-1].text
        messages[0]["content"][0].pop("cache_control", None)  # it moves to the last message
        messages.append({"role": "user", "content": results})


show("count", lambda: client.messages.count_tokens(model="local", messages=[{"role": "user", "content": "hi"}]).input_tokens)
for ask in (whole, streamed):
    show(ask.__name__, lambda: text(ask, "hello"))
    show(ask.__name__ + " with tools", lambda: tools(ask))
    for code in (429, 529, 400):
        show(f"{ask.__name__}, {code}", lambda: text(ask, f"fail {code}"))
show("cut", lambda: text(streamed, "cut the connection"))
show("overloaded", lambda: text(streamed, "fail in the stream"))
