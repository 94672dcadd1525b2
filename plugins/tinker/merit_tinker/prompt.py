"""Conversations as tokens, such that the tokens of an episode extend each other."""

from __future__ import annotations

import hashlib
import json
import os
from typing import Any, Iterable, Sequence

from merit_plugin import Fault, problem

SENTINEL = "MERIT{}ANSWER"  # stands for an answer, to see what a template puts around it
TAIL = 8  # tokens of context with which an answer is decoded


def find(name: str) -> str:
    """Where a tokenizer is: with a model that Merit installed for an engine, otherwise
    where its name refers to."""
    models = os.environ.get("MERIT_MODELS", "")
    installed = os.path.join(models, name, "hf")
    return installed if models and name and os.path.isdir(installed) else name


def load_tokenizer(name: str) -> Any:
    """The tokenizer of a folder or of Hugging Face. No code of the model runs."""
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")  # it warns that PyTorch is missing, which is not needed
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(name, trust_remote_code=False)
    except Exception as e:
        lines = str(e).strip().splitlines() or [type(e).__name__]
        raise problem("tokenizer", f"cannot load the tokenizer {name!r}: {lines[0][:500]}", "name a folder with tokenizer.json, or a model of Hugging Face") from None


def config(folder: str) -> dict:
    """The configuration of the model in a folder; empty if it is not a folder."""
    try:
        with open(os.path.join(folder, "config.json"), encoding="utf-8") as f:
            said = json.load(f)
        return said if isinstance(said, dict) else {}
    except (OSError, ValueError):
        return {}


class Prompts:
    """Turns messages into tokens with one tokenizer and its chat template."""

    def __init__(self, tokenizer: Any, chat_template: str = "", prefill: str = "", tools: list[dict] | None = None, ends: Iterable[int] = ()):
        self.tokenizer, self.prefill, self._tools = tokenizer, prefill, tools or None
        self._template = chat_template or tokenizer.chat_template
        if not self._template:
            raise problem("chat_template", f"the tokenizer {tokenizer.name_or_path} has none", "give one in Jinja, or use a model for conversations")
        self.vocabulary = len(tokenizer)
        self._turn = tokenizer.eos_token_id  # the token behind an answer, if the template has none
        self.stops = self._ends(ends)

    def digest(self) -> str:
        """The digest of everything that determines how text becomes tokens."""
        backend = getattr(self.tokenizer, "backend_tokenizer", None)
        parts = [backend.to_str() if backend else json.dumps(self.tokenizer.get_vocab(), sort_keys=True), str(self._template), self.prefill]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()

    def build(self, messages: list[dict], tokens: Sequence[int] = (), covered: int = 0) -> list[int]:
        """The prompt of the next answer. If tokens stand for the first covered
        messages and the template leaves them unchanged, the prompt begins with exactly
        these tokens; otherwise everything is rendered again."""
        if len(tokens) and 0 < covered <= len(messages) and messages[covered - 1].get("role") == "assistant":
            rest = self._rest(messages, covered)
            if rest is not None:
                added = self._encode(rest + self.prefill)
                if added and added[0] == tokens[-1] and added[0] in self.stops:
                    added = added[1:]  # the end of the turn was sampled
                return [*tokens, *added]
        return self._encode(self._render(messages) + self.prefill)

    def answer(self, messages: list[dict]) -> tuple[list[int], list[int]]:
        """The prompt of the last message, which is an answer, and the tokens that a model
        would have sampled to give it, with the end of the turn."""
        asked, whole, said = self._render(messages[:-1]), self._render(messages, ask=False), messages[-1].get("content") or ""
        text = whole[len(asked):] if whole.startswith(asked) else ""
        if not text or isinstance(said, str) and said.strip() not in text:
            text = str(said)  # of a template that takes thoughts out
        if self.prefill and text.lstrip().startswith(self.prefill):
            asked, text = asked + self.prefill, text.lstrip()[len(self.prefill):]
        tokens = self._encode(text)
        ends = [i for i, token in enumerate(tokens) if token in self.stops]
        return self._encode(asked), tokens[:ends[0] + 1] if ends else [*tokens, self._turn]

    def decode(self, prompt: Sequence[int], tokens: Sequence[int]) -> str:
        """The text of an answer without the prefill. Tokens are decoded behind some
        of the prompt, because some tokenizers drop a space where a text begins."""
        if tokens and tokens[-1] in self.stops:
            tokens = tokens[:-1]
        tail = list(prompt[-TAIL:])
        before, whole = self._decode(tail), self._decode(tail + list(tokens))
        return whole[len(before):] if whole.startswith(before) else self._decode(tokens)

    def _rest(self, messages: list[dict], covered: int) -> str | None:
        """What the template puts after the last answer; None if it rewrites what comes
        before, as templates do that remove earlier reasoning."""
        answer = messages[covered - 1]
        sentinel, text = self._sentinel(messages), answer.get("content") or ""
        around = self._render([*messages[:covered - 1], {"role": "assistant", "content": sentinel}, *messages[covered:]])
        before, found, rest = around.partition(sentinel)
        whole = self._render(messages)
        # A template may trim an answer, or put a space before it: the tokens are
        # what was said.
        asked = self._render(messages[:covered - 1])
        if not found or before.rstrip() != asked.rstrip() or not (whole.startswith(before) and whole.endswith(rest)):
            return None
        kept = whole[len(before):len(whole) - len(rest)]
        if not answer.get("tool_calls") and isinstance(text, str) and kept.strip() != text.strip():
            return None
        return rest

    def _ends(self, known: Iterable[int]) -> list[int]:
        """The tokens that end an answer: the end of text, of the tokenizer and of the
        model, and what the template puts behind an answer if that is one special
        token."""
        ends = {self.tokenizer.eos_token_id, *known} - {None}
        sentinel = SENTINEL.format("")
        try:
            text = self._text([{"role": "user", "content": "?"}, {"role": "assistant", "content": sentinel}, {"role": "user", "content": "?"}])
        except Exception:
            return sorted(ends)  # a template that wants something else
        behind = self._encode(text.partition(sentinel)[2])
        # Not all_special_ids: those are the ones with a role, such as bos.
        added = self.tokenizer.added_tokens_decoder.get(behind[0]) if behind else None
        if added is not None and added.special:
            ends.add(behind[0])
            self._turn = behind[0]
        return sorted(ends)

    def _render(self, messages: list[dict], ask: bool = True) -> str:
        try:
            return self._text(messages, ask)
        except Exception as e:
            raise Fault(
                f"the chat template cannot render a conversation of {', '.join(m.get('role', '?') for m in messages[-4:])}: {str(e)[:500]}",
                boundary="config", kind="invalid", where="options.chat_template", hint="use a template or an environment with roles that fit each other",
            ) from None

    def _text(self, messages: list[dict], ask: bool = True) -> str:
        return self.tokenizer.apply_chat_template(messages, tools=self._tools, chat_template=self._template, tokenize=False, add_generation_prompt=ask)

    def _encode(self, text: str) -> list[int]:
        return self.tokenizer.encode(text, add_special_tokens=False)

    def _decode(self, tokens: Sequence[int]) -> str:
        return self.tokenizer.decode(list(tokens), skip_special_tokens=True, clean_up_tokenization_spaces=False)

    @staticmethod
    def _sentinel(messages: list[dict]) -> str:
        """A text that no message has."""
        said, n = json.dumps(messages), 0
        while SENTINEL.format(n) in said:
            n += 1
        return SENTINEL.format(n)
