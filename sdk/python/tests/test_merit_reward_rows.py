import json
import os
import subprocess
import sys
import tempfile
import unittest

from merit_reward import _rows_native

ANSWER = {"role": "assistant", "content": "4"}


def refused(row):
    try:
        _rows_native.read(row if isinstance(row, str) else json.dumps(row), 1)
    except _rows_native.Unread as e:
        return str(e)
    raise AssertionError("it was read")


class Rows(unittest.TestCase):
    """Promise: a row that the native command cannot read as the sandbox does is refused with its place, never read as less."""

    def test_refused(self):
        for message, said in (
            ({"role": "model", "content": "4"}, 'messages[0].role is "model"'),
            ({"role": "assistant", "contnt": "4"}, "messages[0].content is neither"),
            ({"role": "assistant", "content": [{"type": "video", "text": "4"}]}, "messages[0].content[0] is not a part of text"),
            ({"role": "assistant", "content": [{"type": "text"}]}, "messages[0].content[0] is not a part of text"),
            ({"role": "assistant", "content": "", "tool_calls": [{"name": "f", "arguments": {}}]}, "messages[0].tool_calls[0] is not an id"),
            ({"from": "gpt", "value": "4"}, "messages[0].role is null"),
            ("4", "messages[0].role is missing"),
        ):
            self.assertIn(said, refused({"messages": [message]}))
        for row, said in (
            ({"Messages": [ANSWER]}, "the row needs messages"),
            ({"messages": json.dumps([ANSWER])}, "the row needs messages"),
            ({"messages": [ANSWER], "GROUND_TRUTH": 1}, "write ground_truth"),
            ({"messages": [ANSWER], "ground_truht": 1}, "write ground_truth"),
            ({"messages": [ANSWER], "prompt_messages": 2}, "prompt_messages is 2"),
            ({"completion": {"role": "assistant"}}, "completion is neither"),
            ('{"messages": [], "messages": []}', "messages is given twice"),
            ('{"messages": [{"role": "user", "role": "user", "content": ""}]}', "role is given twice"),
            ('{"messages": [], "x": NaN}', "NaN is not JSON"),
            ("[]", "the line is not an object"),
        ):
            self.assertIn(said, refused(row))

    def test_command(self):
        with tempfile.TemporaryDirectory() as folder:
            data = os.path.join(folder, "data.jsonl")
            with open(data, "w") as f:
                f.write('{"prompt": "q", "completion": "4"}\n\n{"messages": [{"role": "bot", "content": "4"}]}\n{\n')
            reward = os.path.join(folder, "reward.py")
            with open(reward, "w") as f:
                f.write("def reward(messages): return 1\n")
            ran = subprocess.run([sys.executable, "-B", "-m", "merit_reward", reward, data], capture_output=True, text=True)
        self.assertEqual((ran.returncode, ran.stdout), (1, ""))
        lines = ran.stderr.splitlines()
        self.assertIn('data.jsonl, line 3: messages[0].role is "bot"', lines[0])
        self.assertIn("data.jsonl, line 4: ", lines[1])
        self.assertIn("merit eval --reward FILE --data FILE", lines[2])


if __name__ == "__main__":
    unittest.main()
