"""A compiled reward in a trainer, by the example that docs/mathematics.md shows."""

import os
import subprocess
import sys
import unittest

from servers import PACKAGES

ROOT = PACKAGES.parents[1]


class TestVerifier(unittest.TestCase):
    def test_the_example(self):
        subprocess.run([os.environ["MERIT_BINARY"], "reward", "build", "examples/rewards/verifier"], cwd=ROOT, check=True, capture_output=True)
        example = subprocess.run([sys.executable, PACKAGES / "examples" / "verifier.py"], cwd=ROOT, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(PACKAGES)})
        self.assertEqual(example.stdout, "[1.0, 0.0, 1.0]\n", example.stderr)


if __name__ == "__main__":
    unittest.main()
