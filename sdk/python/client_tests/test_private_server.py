"""The private server comes with the first use and goes with the last process."""

import io
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import threading
import unittest
from contextlib import redirect_stderr
from unittest import mock

import servers
from servers import ANSWER, USES, WithFolder, alone, mine, python, running, soon

from merit_rl import Reward, _server

# One write a line: processes that share a pipe would mix what print writes piece by piece.
LINE = "f\"{servers.mine()} {os.environ['MERIT_PRIVATE_SERVER']}\\n\".encode()"
TELL = USES + "; import servers, os; os.write(1, " + LINE + ")"


def score(reward):
    return reward(completions=["A: 4", "A: 5"], ground_truth=["4", "4"]), mine()


class Sharing(unittest.TestCase):
    # Promise: threads that begin at once have one server.
    def test_threads(self):
        reward, got = Reward(ANSWER), []
        threads = [threading.Thread(target=lambda: got.append(score(reward))) for _ in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(got, [([1.0, 0.0], mine())] * 8)

    # Promise: processes that are forked, spawned, or other programs share it; a Reward travels as a pickle.
    def test_processes(self):
        reward = Reward(ANSWER)
        want = score(reward)
        for way in ("fork", "spawn", "forkserver"):
            with multiprocessing.get_context(way).Pool(2) as pool:
                self.assertEqual(pool.map(score, [reward] * 4), [want] * 4, way)
        with python(TELL) as p:
            self.assertEqual(p.stdout.readline().split(), [str(want[1]), os.environ[_server.FOLDER]])

    # Promise: processes that begin at once make one server, if they come from the one that made the Reward.
    def test_at_once(self):
        made = "from merit_rl import Reward, _server; import sys, subprocess; Reward(sys.argv[1])\n"
        many = "all = [subprocess.Popen([sys.executable, '-B', '-c', sys.argv[2]]) for _ in range(4)]\n"
        with python(
            made + many + "for p in all: p.wait()", ANSWER, TELL + "; import sys; sys.stdin.read()", **alone()
        ) as p:
            said = {p.stdout.readline() for _ in range(4)}
            p.communicate()
        self.assertEqual(len(said), 1, said)


class Ends(WithFolder):
    # Promise: nothing is left of it when the program ends: no process, no folder.
    def test_end(self):
        with python(TELL, **alone()) as p:
            pid, folder = p.communicate()[0].split()
        self.assertEqual((p.returncode, running(folder), os.path.exists(folder)), (0, [], False), pid)

    # Promise: a program that is killed takes the server along.
    def test_killed_program(self):
        with python(TELL + "; input()", **alone()) as p:
            pid, folder = p.stdout.readline().split()
            self.addCleanup(shutil.rmtree, folder)
            self.assertEqual(running(folder), [int(pid)])
            p.kill()
        soon(lambda: not running(folder))

    # Promise: it stays for a child that outlives its parent, and goes with that.
    def test_child_outlives(self):
        child = "import sys, subprocess; p = subprocess.Popen([sys.executable, '-B', '-c', sys.argv[1]]); input()"
        with python(TELL + "; " + child, TELL + "; input(); " + TELL, **alone()) as p:
            first, second = p.stdout.readline().split(), p.stdout.readline().split()
            p.kill()
            p.wait()
            os.kill(int(first[0]), 0)
            p.stdin.write("\n")
            p.stdin.flush()
            self.assertEqual([first, p.stdout.readline().split()], [second, second])
        soon(lambda: not running(first[1]) and not os.path.exists(first[1]))

    # Promise: Ctrl-C, which a terminal sends to all processes of the program, does not reach it.
    def test_interrupt(self):
        Reward(ANSWER).manifest()
        self.assertNotEqual(os.getsid(mine()), os.getsid(0))


class Notices(WithFolder):
    # Promise: what the server says that it compiles is shown, whole, once, and nothing else that it writes; also its last line.
    def test_log(self):
        path = os.path.join(self.folder, "log")
        with open(path, "w") as log, mock.patch.dict(os.environ, {_server.FOLDER: self.folder}), mock.patch.object(_server, "address"):
            log.write("compiling what came before\n")
            log.flush()
            with redirect_stderr(io.StringIO()) as said, _server.notices():
                log.write("listening\ncompiling A, which")
                log.flush()
                log.write(" takes a while\ncompilingB\ncompiling C\n")
                log.flush()
            self.assertEqual(said.getvalue(), "merit: compiling A, which takes a while\nmerit: compiling C\n")
            log.write("compiling what comes later\n")
            self.assertEqual(said.getvalue().count("\n"), 2)


class Returns(WithFolder):
    # Promise: a server that was killed is replaced, and gets the uploads again; what it did not answer is asked again.
    def test_killed_server(self):
        reward, n = Reward(ANSWER), 3000
        first = score(reward)[1]
        os.kill(first, signal.SIGKILL)
        self.assertEqual(score(reward)[0], [1.0, 0.0])
        second = mine()
        self.assertNotEqual(first, second)

        rows = (
            {"messages": [{"role": "assistant", "content": f"{'x' * 3000}\nA: {i % 3}"}], "ground_truth": "1"}
            for i in range(n)
        )
        got = []
        for r in reward.stream(rows):
            got.append(r)
            if len(got) == 100:
                os.kill(second, signal.SIGKILL)
        self.assertEqual([(r.id, r.score) for r in got], [(f"line-{i + 1}", float(i % 3 == 1)) for i in range(n)])
        self.assertNotEqual(second, mine())

    # Promise: while the interpreter is compiled, standard error says so, and what makes it quick the next time; then it says nothing.
    def test_compiling(self):
        env = {**os.environ, **alone(), "PYTHONPATH": str(servers.PACKAGES), "MERIT_CACHE": self.folder}
        said = []
        for _ in range(2):
            ran = subprocess.run([sys.executable, "-B", "-c", USES], env=env, capture_output=True, text=True, check=True)
            said.append(ran.stderr)
        self.assertRegex(said[0], r"^merit: compiling CPython .* for this machine, once: about \d+ s of CPU time; the result is cached in .*\n$")
        self.assertIn(self.folder, said[0])
        self.assertEqual(said[1], "")

    # Promise: an environment of a tree that is gone is of no consequence.
    def test_stale(self):
        os.mkfifo(os.path.join(self.folder, "users"))
        for stale in ("/nowhere/merit", self.folder):
            with python(TELL, **{_server.FOLDER: stale}) as p:
                pid, folder = p.communicate()[0].split()
            self.assertEqual((p.returncode, folder == stale), (0, stale == self.folder), pid)
        os.makedirs(self.folder, exist_ok=True)

    # Promise: a program that is missing, or another one, is an error that says so and what to do.
    def test_no_program(self):
        text = (
            "import merit_rl\ntry:\n    merit_rl.Reward(%r).manifest()\nexcept merit_rl.Unavailable as e:\n    print(e)"
            % ANSWER
        )
        for binary, what in (
            (
                "/nowhere/merit",
                "/nowhere/merit: MERIT_BINARY names no program\nset it to the path of merit, or unset it",
            ),
            ("/bin/false", "/bin/false: the private server ended with status 1 before it listened"),
        ):
            with python(text, **alone(), MERIT_BINARY=binary) as p:
                self.assertIn(what, p.communicate()[0])

    # Promise: the wheel's program is found without a PATH.
    def test_finding(self):
        text = "from merit_rl import _binary; print(_binary.find())"
        environment = {**os.environ, "PYTHONPATH": str(servers.PACKAGES), "PATH": "/usr/bin:/bin"}
        del environment["MERIT_BINARY"]
        target = os.path.join(self.folder, "target")
        os.makedirs(os.path.join(target, "bin"))
        os.symlink(servers.PACKAGES / "merit_rl", os.path.join(target, "merit_rl"))
        os.symlink(os.environ["MERIT_BINARY"], os.path.join(target, "bin", "merit"))
        environment["PYTHONPATH"] = target
        out = subprocess.run(
            [sys.executable, "-c", text], env=environment, cwd=self.folder, capture_output=True, text=True
        )
        self.assertEqual(out.stdout.strip(), os.path.join(target, "bin", "merit"), out.stderr)


if __name__ == "__main__":
    unittest.main()
