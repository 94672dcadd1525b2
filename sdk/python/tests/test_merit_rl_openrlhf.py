"""How OpenRLHF's prompts are told from their responses."""

import json
import pathlib
import unittest

from merit_rl.openrlhf import response

CASES = pathlib.Path(__file__).parents[3] / "internal" / "serve" / "shape" / "testdata" / "cases" / "responses.json"


class Responses(unittest.TestCase):
    # Promise: a response is what the server's /get_reward takes for one (internal/serve/shape), and None where nothing can be told.
    def test_as_the_server(self):
        cases = json.loads(CASES.read_text("utf-8"))
        self.assertTrue(cases)
        for case in cases:
            with self.subTest(case["query"]):
                self.assertEqual(response(case["query"], case["prompt"]), case["want"])
