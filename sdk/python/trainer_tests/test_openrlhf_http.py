"""OpenRLHF 0.11.2, as published, against a server: SingleTurnAgentExecutor with a remote_url."""

import re
import time

import http_clients
import http_server
import pytest

PROMPT = "<|im_start|>user\n2 + 2?<|im_end|>\n<|im_start|>assistant\n"


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    with http_server.serving(tmp_path_factory.mktemp("serve")) as url:
        yield url


def remote_url(url):
    """The URL of the example of the docs, at this server."""
    text = (http_server.EXAMPLES / "openrlhf.sh").read_text()
    return re.search(r'--reward.remote_url "([^"]+)"', text)[1].replace("http://127.0.0.1:8700", url)


def test_example(url):
    """Promise: OpenRLHF gets a list of one score, and a log that every sample has."""
    for said, want in (("It is 4<|im_end|>", 1.0), ("It is 5<|im_end|>", 0.0)):
        got = http_clients.openrlhf(remote_url(url), PROMPT, said, "4")
        assert (got["reward"], got["scores"], got["extra_logs"]) == ([want], [want], {"merit_unscored": [0.0]})
        assert isinstance(got["reward"][0], float)


def test_several_servers(url):
    """Promise: of several URLs each is asked in turn."""
    urls = [f"{url}/get_reward", remote_url(url)]
    for _ in range(2):
        assert http_clients.openrlhf(urls, PROMPT, "4", "4")["reward"] == [1.0]


def test_prompt_that_was_cut(url):
    """Promise: of a prompt that was too long, of which OpenRLHF sends the end, the response is known."""
    got = http_clients.openrlhf(f"{url}/get_reward", "4 " * 500 + PROMPT, "It is 5", "4", max_length=200)
    assert got["reward"] == [0.0], "a 4 of the prompt was taken for the response"


def test_unscored(url):
    """Promise: the number that was chosen is the reward, and the log says so; null is a sample without a reward,
    at once; an error is one, too, after the client has tried five times."""
    failing = f"{url}/v1/rewards/failing/get_reward"
    before = http_server.counted(url, "OpenRLHF")
    got = http_clients.openrlhf(f"{failing}?on_unscored=-1", PROMPT, "LOOP", "4")
    assert (got["reward"], got["extra_logs"]) == ([-1.0], {"merit_unscored": [1.0]})
    began = time.monotonic()
    got = http_clients.openrlhf(f"{failing}?on_unscored=null", PROMPT, "RAISE", "4")
    assert (got["reward"], got["scores"], got["extra_logs"]) == (None, None, {"merit_unscored": [1.0]})
    assert time.monotonic() - began < 4, "five tries are four seconds apart"
    got = http_clients.openrlhf(failing, PROMPT, "RAISE", "4")
    assert (got["reward"], got["scores"], got["extra_logs"]) == (None, None, {})
    assert http_server.counted(url, "OpenRLHF") == before + 7


def test_their_server_has_this_shape(url):
    """Promise: the answer has the fields of OpenRLHF's own server, for any number of queries."""
    import requests

    body = {"query": [PROMPT + "4", PROMPT + "5"], "prompts": [PROMPT, PROMPT], "labels": ["4", "4"]}
    got = requests.post(f"{url}/get_reward", json=body, timeout=30).json()
    assert got == {"rewards": [1.0, 0.0], "scores": [1.0, 0.0], "extra_logs": {"merit_unscored": [0.0, 0.0]}}
