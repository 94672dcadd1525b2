"""What of a trainer's batch reaches a reward, and what does not."""

import datetime
import json
import unittest

from merit_rl import InvalidInput
from merit_rl._lines import Columns, Encoder, conversation, in_sequence


class Array:
    """As numpy's and torch's."""

    def __init__(self, values):
        self.values = values

    def tolist(self):
        return self.values


class Image:
    """As PIL's: nothing that JSON could say."""


def encoded(value):
    return json.loads(Encoder(quiet=True).line(value))


TEXT = {"completion_format": "text"}


class Rows(unittest.TestCase):
    def rows(self, prompts, completions, truth="ground_truth", **columns):
        table = Columns(prompts, completions, columns, truth)
        return [table.row(i) for i in range(len(completions))]

    # Promise: texts are a question and an answer, messages stay what they are.
    def test_texts_and_messages(self):
        turns = [{"role": "system", "content": "s"}, {"role": "user", "content": "q"}]
        answer = [{"role": "assistant", "content": "a"}]
        want = turns[1:] + answer
        self.assertEqual([r["messages"] for r in self.rows(["q", turns], ["a", answer])], [want, turns + answer])
        self.assertEqual(self.rows(None, ["a"])[0]["messages"], answer)
        self.assertEqual(conversation(turns[1], answer[0]), want)

    # Promise: a reward in TRL's shape gets a completion in the form in which the trainer had it.
    def test_form(self):
        answer = [{"role": "assistant", "content": "a"}]
        rows = self.rows(["q", "q"], ["a", answer])
        self.assertEqual([r.get("metadata") for r in rows], [{"completion_format": "text"}, None])

    # Promise: so it does from trainers that give an answer as a text.
    def test_form_of_adapters(self):
        from merit_rl._adapting import trajectory

        self.assertEqual(trajectory("a", "q", "a", metadata={"level": 3})["metadata"], {**TEXT, "level": 3})
        self.assertEqual(trajectory("a", "q", "a")["metadata"], TEXT)
        self.assertNotIn("metadata", trajectory("a", "q", [{"role": "assistant", "content": "a"}]))

    # Promise: the ground truth is the column that is named, all others are metadata by their names.
    def test_columns(self):
        (row,) = self.rows(["q"], ["a"], ground_truth=["4"], level=[3], metadata=[{"from": "gsm8k"}])
        self.assertEqual((row["ground_truth"], row["metadata"]), ("4", {**TEXT, "level": 3, "from": "gsm8k"}))
        (row,) = self.rows(["q"], ["a"], truth="solution", ground_truth=["x"], solution=[4], metadata=["text"])
        self.assertEqual((row["ground_truth"], row["metadata"]), (4, {**TEXT, "ground_truth": "x", "metadata": "text"}))
        (row,) = self.rows(["q"], ["a"], labels=Array([7]))
        self.assertEqual(row["metadata"], {**TEXT, "labels": 7})

    # Promise: what trainers pass beside the columns goes nowhere.
    def test_not_columns(self):
        (row,) = self.rows(
            ["q"], ["a"], completion_ids=[[1, 2]], trainer_state=object(), log_metric=print, log_extra=print
        )
        self.assertEqual((set(row), row["metadata"]), ({"id", "messages", "metadata"}, TEXT))

    # Promise: a column of another length, or that is no list, is an error that names it.
    def test_wrong_columns(self):
        for columns, what in (
            ({"level": [1, 2]}, "column level has 2 values for 1 completions"),
            ({"level": "12"}, "column level is no list"),
            ({"level": 3}, "column level is no list"),
        ):
            with self.assertRaisesRegex(InvalidInput, what):
                self.rows(["q"], ["a"], **columns)
        with self.assertRaisesRegex(InvalidInput, "column prompts has 1 values for 2"):
            self.rows(["q"], ["a", "b"])

    # Promise: arguments of tool calls are text, as OpenAI has them, whatever the chat template made of them.
    def test_tool_calls(self):
        call = {"type": "function", "function": {"name": "f", "arguments": {"x": 1}}}
        said = {"role": "assistant", "tool_calls": [call, {"function": {"name": "g", "arguments": "{}"}}]}
        (got,) = conversation(None, [said])
        self.assertEqual([c["function"]["arguments"] for c in got["tool_calls"]], ['{"x": 1}', "{}"])
        self.assertEqual(call["function"]["arguments"], {"x": 1}, "the caller's own is not changed")


class Groups(unittest.TestCase):
    def groups(self, prompts, **columns):
        return Columns(prompts, prompts, columns, "ground_truth").groups()

    # Promise: rows of one prompt are of one group, and its members follow one another on the wire.
    def test_by_prompt(self):
        self.assertEqual(self.groups(["a", "a", "b", "a"]), ["prompt-0", "prompt-0", "prompt-1", "prompt-0"])
        turns = (
            [{"role": "user", "content": "a"}],
            [{"content": "a", "role": "user"}],
            [{"role": "user", "content": "b"}],
        )
        self.assertEqual(self.groups(list(turns)), ["prompt-0", "prompt-0", "prompt-1"])
        self.assertEqual(self.groups(["a", "a"], group=[1, 2]), ["1", "2"])
        self.assertEqual(in_sequence(["x", "y", "x", "z", "y"]), [0, 2, 1, 4, 3])


class Values(unittest.TestCase):
    # Promise: arrays are lists, times are texts, and what JSON cannot say is null.
    def test_encoder(self):
        when = datetime.datetime(2026, 1, 2, 3, 4, 5)
        value = {
            "a": Array([1, 2]),
            "t": when,
            "i": Image(),
            "s": {2, 1},
            "n": float("nan"),
            "inf": [Array(float("inf"))],
        }
        want = {"a": [1, 2], "t": "2026-01-02T03:04:05", "i": None, "s": [1, 2], "n": None, "inf": [None]}
        self.assertEqual(encoded(value), want)

    # Promise: each kind of value that is sent as null is said once.
    def test_said_once(self):
        class Odd:
            pass

        with self.assertLogs("merit_rl", "WARNING") as said:
            for _ in range(3):
                Encoder().line({"x": [Odd(), Odd()]})
        self.assertEqual(len(said.output), 1)
        self.assertIn("Odd: rewards get null for it", said.output[0])

    # Promise: every text arrives as UTF-8, on one line, and what is no Unicode as question marks.
    def test_text(self):
        self.assertEqual(encoded({"x": "a\nü\u2028\U0001f600"}), {"x": "a\nü\u2028\U0001f600"})
        self.assertEqual(Encoder().line({"x": "a\nb"}).count(b"\n"), 1)
        self.assertEqual(encoded({"x": "\ud800!"}), {"x": "?!"})

    # Promise: what holds itself, or has keys that are no texts, is an error that names the row.
    def test_no_json(self):
        loop = {"id": "completion 3"}
        loop["x"] = loop
        for value in (loop, {"id": "completion 3", "x": {(1, 2): 3}}):
            with self.assertRaisesRegex(InvalidInput, "completion 3: it is no JSON"):
                Encoder().line(value)


if __name__ == "__main__":
    unittest.main()
