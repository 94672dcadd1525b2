"""Rewards that compare, in trainers that give a reward no group."""

import asyncio
import socket
import ssl
import sys
import types
import unittest
from unittest import mock

from fake_server import Fake

from merit_rl import Halt, Reward, openrlhf, verifiers, verl
from merit_rl._http import Connection, parse_address

ROLLOUT = types.SimpleNamespace(id="rollout-7", messages=[])


def verl_one(server):
    return verl.compute_score("sums", "4", "4", reward="gsm8k", on_unscored=0.0, server=server)


def verl_async(server):
    return asyncio.run(verl.compute_score_async("sums", "4", "4", reward="gsm8k", on_unscored=0.0, server=server))


def verl_batch(server):
    return verl.compute_score_batch(["sums"] * 2, ["4", "5"], ["4"] * 2, [None] * 2, reward="gsm8k", server=server)


def task_reward(reward):
    return asyncio.run(verifiers.task_reward(reward, on_unscored=0.0)({"answer": "4"}, ROLLOUT))


def rubric_reward(reward):
    return asyncio.run(verifiers.rubric_reward(reward, on_unscored=0.0)("2 + 2?", "4", "4"))


def open_rlhf(reward):
    return openrlhf.function(reward, on_unscored=0.0)(["2 + 2? 4"], ["2 + 2? "], ["4"])


def skyrl(reward):
    base = types.ModuleType("skyrl_gym.envs.base_text_env")
    base.BaseTextEnv, base.BaseTextEnvStepOutput = object, dict
    names = {"skyrl_gym": types.ModuleType("skyrl_gym"), "skyrl_gym.envs": types.ModuleType("skyrl_gym.envs")}
    with mock.patch.dict(sys.modules, {**names, base.__name__: base}):
        from merit_rl.skyrl_gym import MeritEnv

        env = MeritEnv(reward=reward, on_unscored=0.0)
        env.init([{"role": "user", "content": "2 + 2?"}])
        return env.step("4")


class Compares(unittest.TestCase):
    def refused(self, call, trainer, by_name=False):
        """Calls twice with a reward that compares, and a server that answers one question."""
        asked = []

        def version(peer):
            asked.append(peer.request()[:2])
            peer.answer(200, {"name": "gsm8k", "reward": {"group": True}})

        with Fake(version) as server:
            given = server.address if by_name else Reward("gsm8k", server=server.address)
            for _ in range(2):
                with self.assertRaises(Halt) as caught:
                    call(given)
                said = str(caught.exception)
                self.assertIn(f"gsm8k: it compares the members of a group, and {trainer} gives it no group", said)
                self.assertIn("use a reward that scores one by one; or TRL, evaluated_all", said)
        self.assertEqual((asked, server.errors), ([("GET", "/v1/rewards/gsm8k")], []))

    # Promise: each adapter that has no groups refuses a reward that compares, whatever stands for no score, and
    # nothing is scored.
    def test_verl(self):
        for call in (verl_one, verl_async, verl_batch):
            with self.subTest(call.__name__):
                self.refused(call, "verl", by_name=True)

    def test_openrlhf(self):
        self.refused(open_rlhf, "OpenRLHF")

    def test_verifiers_task(self):
        self.refused(task_reward, "verifiers")

    def test_verifiers_rubric(self):
        self.refused(rubric_reward, "verifiers")

    def test_skyrl_gym(self):
        self.addCleanup(sys.modules.pop, "merit_rl.skyrl_gym", None)
        self.refused(skyrl, "SkyRL-gym")

    # Promise: one that does not compare is scored; the server is asked once whether it does.
    def test_others_are_scored(self):
        asked = []

        def serve(peer):
            asked.append(peer.request()[0])
            peer.answer(200, {"name": "gsm8k", "reward": {"group": False}})
            asked.extend(peer.evaluate()[0] for _ in range(2))

        with Fake(serve) as server:
            for _ in range(2):
                self.assertEqual([s["score"] for s in verl_batch(server.address)], [0.0, 1.0])
        self.assertEqual((asked, server.errors), (["GET", "POST", "POST"], []))

    # Promise: of the server's own script it is the function that decides, not the one it was uploaded with.
    def test_function(self):
        asked = []

        def manifest(peer):
            asked.append(peer.request()[1])
            peer.answer(200, {"group": True})

        with Fake(manifest) as server:
            self.assertTrue(Reward("gsm8k:ranked", server=server.address).compares)
        self.assertEqual(asked, ["/v1/rewards/gsm8k/manifest?function=ranked"])


class Connections(unittest.TestCase):
    # Promise: IPv6 stands in brackets, in the address and in the header Host.
    def test_ipv6(self):
        for text in ("http://[::1]:8080/merit", "http://127.0.0.1:8080"):
            self.assertEqual(str(parse_address(text)), text)
        said = []
        with Fake(lambda peer: said.append(peer.request()[2]["host"])) as server:
            connection = Connection(parse_address(server.address), 5)
            connection.address = parse_address("http://[::1]:8080")
            with self.assertRaises(OSError):  # the peer has no more to say
                connection.exchange("GET", "/", {}).head()
            connection.close()
        self.assertEqual(said, ["[::1]:8080"])

    # Promise: where the handshake does not end, whatever ended it, the server sees the connection closed.
    def test_handshake(self):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            address = parse_address(f"https://localhost:{listener.getsockname()[1]}")
            with mock.patch.object(ssl.SSLSocket, "do_handshake", side_effect=KeyboardInterrupt):
                try:
                    Connection(address, 5)
                except KeyboardInterrupt as e:
                    error = e  # holds the frames: assertRaises would clear them, and the socket with them
            peer, _ = listener.accept()
            with peer:
                peer.settimeout(1)
                self.assertEqual(peer.recv(1), b"")
            self.assertIsInstance(error, KeyboardInterrupt)


if __name__ == "__main__":
    unittest.main()
