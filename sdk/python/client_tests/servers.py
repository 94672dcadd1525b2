"""What the tests with a real server share. MERIT_BINARY names the program."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

from merit_rl import _server

PACKAGES = pathlib.Path(__file__).resolve().parents[1]
ANSWER = str(PACKAGES / "examples" / "answer.py")
USES = (
    f"from merit_rl import Reward; reward = Reward({ANSWER!r}); "
    "assert reward(completions=['A: 4'], ground_truth=['4']) == [1]"
)


class WithFolder(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)

    def script(self, text, name="reward.py"):
        """The path of a reward."""
        path = os.path.join(self.folder, name)
        with open(path, "w") as f:
            f.write(text)
        return path


def running(folder):
    """The servers of a folder."""
    listed = subprocess.run(["ps", "-Ao", "pid=,stat=,args="], capture_output=True, text=True, check=True).stdout
    lines = [line.split(None, 2) for line in listed.splitlines()]
    return [int(pid) for pid, state, args in lines if os.path.join(folder, "merit.sock") in args and state[0] != "Z"]


def mine():
    """The only server of this process tree."""
    (pid,) = running(os.environ[_server.FOLDER])
    return pid


def python(text, *args, **environment):
    """A process that runs text, its output line by line in stdout."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(PACKAGES), os.path.dirname(__file__)]), **environment}
    command = [sys.executable, "-B", "-W", "error", "-c", text, *args]
    return subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)


def alone():
    """An environment without the server of this process."""
    return {_server.FOLDER: ""}


def soon(true, seconds=120.0):
    """Wait until true() is."""
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            raise AssertionError("it does not happen")
        time.sleep(0.02)
