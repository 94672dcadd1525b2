"""Conversations as tokens."""

import random
import unittest

import samples
from samples import END, tokenizer

from merit_plugin import Fault
from merit_tinker.prompt import Prompts

SYSTEM = {"role": "system", "content": "Go."}


def said(role, content):
    return {"role": role, "content": content}


class Turns(unittest.TestCase):
    def episode(self, template, answers, prefill="", ended=True, system=True, calls=False):
        """Plays answers, sampled as they stand; returns the prompts."""
        p = Prompts(tokenizer(template), prefill=prefill)
        messages, tokens, covered, prompts = [SYSTEM] * system, [], 0, []
        for i, answer in enumerate(answers):
            messages.append(said("user", f"at {i} ü"))
            prompt = p.build(messages, tokens, covered)
            prompts.append(prompt)
            sampled = p.tokenizer.encode(answer, add_special_tokens=False) + [END] * ended
            self.assertEqual(p.decode(prompt, sampled), answer)
            tokens = prompt + sampled
            messages.append(said("assistant", prefill + answer))
            if calls:
                messages[-1]["tool_calls"] = [{"type": "function", "function": {"name": "f", "arguments": "{}"}}]
            covered = len(messages)
        return p, messages, prompts

    # Promise: the prompts of an episode extend each other, and are what the whole
    # conversation gives when it is rendered at once.
    def test_extend(self):
        dice = random.Random(1)
        for template in (samples.SMOLLM2, samples.PLAIN, samples.THINKING, samples.TOOLS, samples.TRIMMED):
            for prefill in ("", "Move:"):
                for ended in (True, False):
                    if ended and template is samples.PLAIN:
                        continue  # this template has no token that ends a turn
                    answers = ["".join(dice.choices("abü\n <>", k=3)) + "x" for _ in range(4)]
                    if template is samples.TRIMMED:
                        answers = [a.strip() for a in answers]
                    p, messages, prompts = self.episode(template, answers, prefill, ended)
                    for n, (before, after) in enumerate(zip(prompts, prompts[1:]), 1):
                        self.assertEqual(after[:len(before)], before)
                        whole = p.build(messages[:2 * n + 2])
                        self.assertEqual(p.tokenizer.decode(after), p.tokenizer.decode(whole), template)
                        self.assertEqual(after, whole, template)

    # Promise: what a template trims, or sets apart, was said all the same.
    def test_trimmed(self):
        for template, answer in ((samples.TRIMMED, " L \n"), (samples.SPACED, "L"), (samples.SPACED, " L")):
            p, _, prompts = self.episode(template, [answer, "R"])
            before = prompts[0] + p.tokenizer.encode(answer)
            self.assertEqual(prompts[1][:len(before)], before)

    # Promise: a template that takes thoughts out of the past begins a new sequence.
    def test_rewritten(self):
        p, messages, prompts = self.episode(samples.THINKING, ["<think>left?</think>L", "R"])
        self.assertNotEqual(prompts[1][:len(prompts[0]) + 5], prompts[0] + p.tokenizer.encode("<think>")[:5])
        self.assertEqual(prompts[1], p.build(messages[:4]))
        self.assertNotIn("left?", p.tokenizer.decode(prompts[1]))

    # Promise: an answer with calls of tools is as it was sampled, however the
    # template writes it.
    def test_calls(self):
        _, _, prompts = self.episode(samples.TOOLS, ['{"name": "f"}', "done"], calls=True)
        self.assertEqual(prompts[1][:len(prompts[0])], prompts[0])
        p = Prompts(tokenizer(samples.TOOLS), tools=[{"type": "function", "function": {"name": "look"}}])
        self.assertIn("look", p.tokenizer.decode(p.build([said("user", "x")])))

    # Promise: the tokens of an answer that another model gave are those that this one would have
    # sampled: the prompt is that of a request, the text is all that was said, and the turn ends.
    def test_answers_of_others(self):
        for template in (samples.SMOLLM2, samples.PLAIN, samples.THINKING, samples.TOOLS, samples.SPACED):
            for prefill in ("", "Move:"):
                for answer in ("<think>left?</think>L", "Move: R", "ü\n  x"):
                    p = Prompts(tokenizer(template), prefill=prefill)
                    messages = [SYSTEM, said("user", "a"), said("assistant", "b"), said("user", "c"), said("assistant", answer)]
                    prompt, tokens = p.answer(messages)
                    begun = prefill if prefill and answer.startswith(prefill) else ""
                    plain = Prompts(tokenizer(template), prefill=begun)
                    self.assertEqual(prompt, plain.build(messages[:-1]), template)
                    self.assertEqual((begun + p.decode(prompt, tokens)).strip(), answer, template)
                    self.assertIn(tokens[-1], p.stops, template)
                    self.assertNotIn(tokens[-1], tokens[:-1])
        called = said("assistant", "") | {"tool_calls": [{"type": "function", "function": {"name": "look", "arguments": "{}"}}]}
        p = Prompts(tokenizer(samples.TOOLS))
        self.assertEqual(p.decode(*p.answer([said("user", "a"), called])), "<call>look</call>")

    # Promise: tokens that do not stand for an answer's end are not taken for one.
    def test_not_covered(self):
        p = Prompts(tokenizer())
        messages = [said("user", "a"), said("assistant", "b"), said("user", "c")]
        whole = p.build(messages)
        for covered in (0, 1, 3, 9):
            self.assertEqual(p.build(messages, [5, 6], covered), whole)

    # Promise: an answer is stopped by what ends a turn, and by the end of all text.
    def test_stops(self):
        self.assertEqual(Prompts(tokenizer()).stops, [1, 2])
        self.assertEqual(Prompts(tokenizer(samples.PLAIN)).stops, [2])
        self.assertEqual(Prompts(tokenizer(samples.PLAIN), ends=[1, 7]).stops, [1, 2, 7])
        odd = tokenizer()  # one whose special tokens have no role, as converted ones
        odd.eos_token = "<|im_start|>"
        self.assertIn(END, Prompts(odd).stops)

    # Promise: a conversation that the template refuses is a fault of the configuration.
    def test_refused(self):
        p = Prompts(tokenizer(samples.ALTERNATING))
        with self.assertRaisesRegex(Fault, "of system, user: roles must alternate") as caught:
            p.build([SYSTEM, said("user", "x")])
        self.assertEqual((caught.exception.boundary, caught.exception.where), ("config", "options.chat_template"))
        with self.assertRaises(Fault) as caught:
            Prompts(tokenizer(None))
        self.assertEqual(caught.exception.where, "options.chat_template")

    # Promise: the digest tells tokenizers, templates and prefills apart.
    def test_digest(self):
        all = {Prompts(tokenizer(t), prefill=f).digest() for t in (samples.SMOLLM2, samples.PLAIN) for f in ("", "x")}
        self.assertEqual(len(all), 4)
        self.assertEqual(Prompts(tokenizer()).digest(), Prompts(tokenizer()).digest())


if __name__ == "__main__":
    unittest.main()
