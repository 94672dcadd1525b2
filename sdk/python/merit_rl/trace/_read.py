"""What was asked of a model and what it answered, out of a function's arguments and result."""

from __future__ import annotations

from typing import Any, Dict, Iterable, List, Mapping, Optional

from ._span import clean, plain, told


def messages_of(args: Iterable[Any], kwargs: Mapping[str, Any]) -> List[Dict[str, Any]]:
    """The messages among the arguments: named so, or the first list of messages, or the first text."""
    for value in [kwargs.get("messages"), kwargs.get("prompt"), *args, *kwargs.values()]:
        if isinstance(value, str):
            return [{"role": "user", "content": clean(value)}]
        if isinstance(value, (list, tuple)):
            found = [message_of(m) for m in value]
            if found and None not in found:
                return [m for m in found if m is not None]
    return []


def message_of(value: Any) -> Optional[Dict[str, Any]]:
    """A value as a message of a conversation, or None if it is none."""
    value = value if isinstance(value, Mapping) else plain(value)
    if not isinstance(value, Mapping) or not isinstance(value.get("role"), str):
        return None
    content = value.get("content")
    said: Dict[str, Any] = {"role": value["role"], "content": content if content is None else told(content)}
    if isinstance(content, (list, tuple)):  # parts, with pictures perhaps
        said["content"] = plain(list(content))
    for key in ("name", "tool_calls", "tool_call_id"):
        if value.get(key):
            said[key] = plain(value[key])
    return said


def answer_of(result: Any) -> Dict[str, Any]:
    """The part of a prompt that a result is: a text, a message, or what OpenAI's client gives."""
    if isinstance(result, str):
        return {"answer": {"role": "assistant", "content": clean(result)}}
    value = result if isinstance(result, Mapping) else plain(result)
    if not isinstance(value, Mapping):
        return {"answer": {"role": "assistant", "content": told(value)}}
    choices = value.get("choices")
    if not isinstance(choices, list) or not choices:
        answer = message_of({"role": "assistant", **value})
        return {"answer": answer} if "content" in value or "tool_calls" in value else {"answer": {"role": "assistant", "content": told(value)}}
    first = choices[0]
    prompt: Dict[str, Any] = {"answer": message_of(first.get("message", {"role": "assistant", "content": first.get("text")}))}
    if isinstance(first.get("finish_reason"), str):
        prompt["finish_reason"] = first["finish_reason"]
    if isinstance(value.get("model"), str):
        prompt["model"] = value["model"]
    usage = value.get("usage")
    if isinstance(usage, Mapping):
        prompt["usage"] = {k: usage.get(k) or 0 for k in ("prompt_tokens", "completion_tokens")}
    return prompt


def joined(chunks: Iterable[Any]) -> Dict[str, Any]:
    """The answer that the chunks of a stream come to."""
    text: List[str] = []
    calls: List[Dict[str, Any]] = []
    prompt: Dict[str, Any] = {}
    for chunk in chunks:
        value = chunk if isinstance(chunk, (str, Mapping)) else fields(chunk)
        if isinstance(value, str):
            text.append(value)
            continue
        if isinstance(value.get("model"), str):
            prompt["model"] = value["model"]
        for choice in (value.get("choices") or [{"delta": value}])[:1]:
            delta = choice.get("delta") or {}
            if isinstance(delta.get("content"), str) and delta.get("type", "content") in ("content", "text"):
                text.append(delta["content"])
            for call in delta.get("tool_calls") or []:
                add_call(calls, plain(call))
            if isinstance(choice.get("finish_reason"), str):
                prompt["finish_reason"] = choice["finish_reason"]
    answer: Dict[str, Any] = {"role": "assistant", "content": clean("".join(text))}
    if calls:
        answer["tool_calls"] = calls
    return {**prompt, "answer": answer}


def fields(chunk: Any) -> Mapping[str, Any]:
    """An object's fields, as JSON has them."""
    if hasattr(chunk, "model_dump"):
        value = plain(chunk)
        return value if isinstance(value, Mapping) else {}
    return {k: getattr(chunk, k) for k in ("type", "content", "model", "choices", "tool_calls") if getattr(chunk, k, None) is not None}


def add_call(calls: List[Dict[str, Any]], piece: Any) -> None:
    """Put a piece of a tool call where its index says."""
    if not isinstance(piece, Mapping):
        return
    at, function = piece.get("index", len(calls)), piece.get("function") or {}
    if not isinstance(at, int) or not 0 <= at < 1024:
        return
    while len(calls) <= at:
        calls.append({"id": "", "type": "function", "function": {"name": "", "arguments": ""}})
    to = calls[at]
    to["id"] = to["id"] or piece.get("id") or ""
    to["function"]["name"] = to["function"]["name"] or function.get("name") or ""
    to["function"]["arguments"] += told(function.get("arguments") or "")
