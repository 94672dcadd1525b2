"""What the client does when the server or the connection does not do what it should."""

import itertools
import json
import os
import time
import unittest
import zlib

from fake_server import Fake

from merit_rl import Busy, InvalidInput, MeritError, NotAllowed, NotFound, Reward, TooLarge, Unavailable

REWARD = "gsm8k@stable"


def rows(n, size=10):
    return ({"id": f"t-{i}", "messages": [{"role": "assistant", "content": "x" * size}]} for i in range(n))


def scores(results):
    return [r.score for r in results]


class Streams(unittest.TestCase):
    # Promise: sending and receiving go on at one time, so that neither side's buffers are too small.
    def test_both_ways_at_once(self):
        with Fake(lambda peer: peer.evaluate()) as server:
            n = 3000
            got = Reward(REWARD, server=server.address).evaluate(rows(n, 5000))
        self.assertEqual(scores(got), [float(i) for i in range(n)])
        self.assertEqual(server.errors, [])

    # Promise: what has no answer when the connection is lost is sent again, and nothing else.
    def test_connection_lost_in_the_middle(self):
        asked = []

        def lose(peer):
            peer.request()
            peer.begin()
            for line in itertools.islice(peer.lines(), 10):
                peer.result(line, float(line["id"][2:]))

        def rest(peer):
            peer.request()
            peer.begin()
            for line in peer.lines():
                asked.append(line["id"])
                peer.result(line, float(line["id"][2:]))
            peer.chunk(b"")

        with Fake(lose, rest) as server:
            got = Reward(REWARD, server=server.address).evaluate(rows(5000, 1000))
        self.assertEqual(scores(got), [float(i) for i in range(5000)])
        self.assertEqual(asked, [f"t-{i}" for i in range(10, 5000)])

    # Promise: a group that was answered in part is sent again as a whole, as its members are compared.
    def test_lost_in_a_group(self):
        groups, asked = "aaabbbbc", []

        def lose(peer):
            peer.request()
            peer.begin()
            for i, line in zip(range(5), peer.lines()):
                peer.result(line, float(i))

        def rest(peer):
            peer.request()
            peer.begin()
            for line in peer.lines():
                asked.append(line["id"])
                peer.result(line, float(line["id"][2:]))
            peer.chunk(b"")

        with Fake(lose, rest) as server:
            got = Reward(REWARD, server=server.address).evaluate(
                {**row, "group": group} for row, group in zip(rows(len(groups)), groups)
            )
        self.assertEqual(asked, ["t-3", "t-4", "t-5", "t-6", "t-7"])
        self.assertEqual([(r.id, r.score) for r in got], [(f"t-{i}", float(i)) for i in range(len(groups))])

    # Promise: results come as they are there, wherever the answer is cut into pieces.
    def test_answer_in_pieces(self):
        def drip(peer):
            peer.request()
            whole = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
            for i, _ in enumerate(peer.lines()):
                text = b'{"id":"t","outcome":"scored","score":%d,"reason":"\xc3\xa9"}\n' % i
                whole += b"%x;x=y\r\n%b\r\n%x\r\n%b\r\n" % (5, text[:5], len(text) - 5, text[5:])
            for at in range(0, len(whole), 7):
                peer.sock.sendall(whole[at : at + 7])
            peer.sock.sendall(b"0\r\nMerit-Outcomes: scored=9\r\n\r\n")

        with Fake(drip) as server:
            got = Reward(REWARD, server=server.address).evaluate(rows(9))
        self.assertEqual([(r.score, r.reason) for r in got], [(float(i), "é") for i in range(9)])

    # Promise: an error of whoever makes the trajectories is theirs, not the connection's.
    def test_source_fails(self):
        def broken():
            yield from rows(3)
            raise FileNotFoundError("data.jsonl")

        def read(peer):
            peer.request()
            list(peer.lines())

        with Fake(read) as server, self.assertRaises(FileNotFoundError):
            Reward(REWARD, server=server.address).evaluate(broken())

    # Promise: a line that cannot be used is an error with its place, after the results before it.
    def test_bad_line(self):
        def lose(peer):
            peer.request()
            peer.begin()
            peer.result(next(peer.lines()))

        def refuse(peer):
            peer.request()
            peer.begin()
            peer.result(next(peer.lines()))
            problem = {"where": "line 2", "what": "messages is empty", "hint": "correct it"}
            peer.chunk(json.dumps({"line": 2, "problem": {"status": 422, "problems": [problem]}}).encode() + b"\n")

        with Fake(lose, refuse) as server:
            got = []
            with self.assertRaises(InvalidInput) as e:
                for r in Reward(REWARD, server=server.address).stream(rows(5)):
                    got.append(r)
        self.assertEqual(len(got), 2)
        self.assertEqual(str(e.exception), "trajectory 3: messages is empty\ncorrect it")

    # Promise: a server that ends says so, and the rest goes to the one that takes its place.
    def test_server_ends(self):
        def end(peer):
            peer.request()
            peer.begin()
            peer.result(next(peer.lines()), 0.0)
            ending = {"end": True, "answered": 1, "problem": {"status": 503, "detail": "the server ends"}}
            peer.chunk(json.dumps(ending).encode() + b"\n")
            peer.chunk(b"")

        with Fake(end, lambda peer: peer.evaluate()) as server:
            got = Reward(REWARD, server=server.address).evaluate(rows(5))
        self.assertEqual(scores(got), [0.0, 1.0, 2.0, 3.0, 4.0])


class Refusals(unittest.TestCase):
    def refused(self, status, said, **headers):
        def refuse(peer):
            peer.request()
            peer.answer(status, said, **headers)

        with Fake(refuse) as server, self.assertRaises(MeritError) as e:
            Reward(REWARD, server=server.address, patience=1).evaluate(rows(2000, 5000))
        return e.exception

    # Promise: an answer that comes before the request is sent is read, and becomes an error of its kind.
    def test_kinds(self):
        for status, kind in (
            (400, InvalidInput),
            (401, NotAllowed),
            (404, NotFound),
            (413, TooLarge),
            (422, InvalidInput),
        ):
            e = self.refused(status, {"title": "t", "detail": f"what is wrong {status}", "problems": []})
            self.assertIs(type(e), kind)
            self.assertEqual((str(e), e.status), (f"what is wrong {status}", status))

    # Promise: all problems are shown, each with place and hint.
    def test_problems(self):
        problems = [{"where": "reward.py:3", "what": "no numpy", "hint": "omit it"}, {"what": "another"}]
        text = str(self.refused(422, {"detail": "2 problems", "problems": problems}))
        self.assertEqual(text, "2 problems\n  reward.py:3: no numpy\n    omit it\n  another")

    # Promise: what is no answer of Merit is said to be none.
    def test_not_merit(self):
        e = self.refused(502, b"<html>Bad Gateway</html>")
        self.assertIn("status 502: <html>Bad Gateway</html>\ncheck that the address", str(e))

    # Promise: a server without room is asked again when it says, and not for longer than patience.
    def test_busy(self):
        def busy(peer):
            peer.request()
            peer.answer(429, {"detail": "the queue is full"}, Retry_After="0.1", Connection="close")

        began = time.monotonic()
        with Fake(busy, busy, lambda peer: peer.evaluate()) as server:
            self.assertEqual(scores(Reward(REWARD, server=server.address).evaluate(rows(2))), [0.0, 1.0])
        self.assertGreater(time.monotonic() - began, 0.2)
        e = self.refused(429, {"detail": "the queue is full"}, Retry_After="60")
        self.assertIsInstance(e, Busy)
        self.assertIn("come back in 60 s, and patience=1 s", str(e))

    # Promise: a server that is not there, or says nothing, or is none, is an error that names it.
    def test_unavailable(self):
        with self.assertRaises(Unavailable) as e:
            Reward(REWARD, server="unix:/nowhere/s").evaluate(rows(1))
        self.assertIn("unix:/nowhere/s: ", str(e.exception))

        with Fake(lambda peer: time.sleep(1)) as server, self.assertRaises(Unavailable) as e:
            Reward(REWARD, server=server.address, timeout=0.2).evaluate(rows(1))
        self.assertIn("said nothing for 0.2 s", str(e.exception))

        garbage = [lambda peer: peer.sock.sendall(zlib.compress(b"x" * 100)) or peer.request()] * 5
        with Fake(*garbage) as server, self.assertRaises(Unavailable):
            Reward(REWARD, server=server.address).evaluate(rows(1))


class Connections(unittest.TestCase):
    # Promise: one connection serves one request after another, and a forked child has its own.
    def test_kept_and_forked(self):
        def twice(peer):
            peer.evaluate()
            peer.evaluate()

        with Fake(twice, lambda peer: peer.evaluate()) as server:
            reward = Reward(REWARD, server=server.address)
            self.assertEqual(scores(reward.evaluate(rows(2))), [0.0, 1.0])
            child = os.fork()
            if child == 0:
                # The script of this connection begins when the parent's has ended.
                os._exit(0 if scores(reward.evaluate(rows(3))) == [0.0, 1.0, 2.0] else 1)
            self.assertEqual(scores(reward.evaluate(rows(2))), [0.0, 1.0])
            self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
        self.assertEqual(server.errors, [])

    # Promise: the key goes along, and stays out of what is printed.
    def test_key(self):
        seen = {}

        def look(peer):
            _, _, headers = peer.request()
            seen.update(headers)
            peer.answer(200, {})

        with Fake(look) as server:
            reward = Reward(REWARD, server=server.address, key="merit_secret")
            reward.manifest()
        self.assertEqual(seen["authorization"], "Bearer merit_secret")
        self.assertNotIn("secret", repr(reward))
        for key in ("two\nlines", "é"):
            with self.assertRaises(InvalidInput):
                Reward(REWARD, server=server.address, key=key)


if __name__ == "__main__":
    unittest.main()
