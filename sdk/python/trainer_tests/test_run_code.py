"""verl 0.9.1, as published, checks programs of models at a server's /run_code, as it does at SandboxFusion."""

import json

import http_server
import pytest
import requests
import sandbox_fusion as published
from verl.utils.reward_score import default_compute_score, sandbox_fusion

CASES = {"inputs": ["3\n4\n", "10\n-1\n"], "outputs": ["7\n", "9\n"]}
GOOD = "```python\nimport sys\nprint(sum(int(x) for x in sys.stdin.buffer.read().split()))\n```"


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    more = [f"rewards=[{{name: run_code, module: {http_server.EXAMPLES}/run_code.py}}]", "default_reward=run_code", "sandbox.fuel=2000000000"]
    with http_server.serving(tmp_path_factory.mktemp("serve"), *more) as url:
        yield url + "/run_code"


@pytest.mark.parametrize(
    "said, score, statuses",
    [
        (GOOD, 1.0, ["success", "success"]),
        ("```python\nprint(int(input()) + int(input()) if True else 0)\n```", 1.0, ["success", "success"]),
        ("```python\nprint(7)\n```", 0.5, ["success", "wrong_answer"]),
        ("```python\n1/0\n```", 0.0, ["runtime_error", "runtime_error"]),
        ("```python\nwhile True: pass\n```", 0.0, ["timeout", "timeout"]),
        ("```python\nimport os; os._exit(0)\n```", 0.0, ["runtime_error", "runtime_error"]),
    ],
)
def test_compute_score(url, said, score, statuses):
    """Promise: verl's compute_score gets the score of a program, and the reason of each case."""
    got, metadata = sandbox_fusion.compute_score(url, None, 1024, said, CASES, continuous=True, timeout=1)
    assert (got, [m["status"] for m in metadata]) == (score, statuses)


def test_functions(url):
    """Promise: tests that call a function, which verl wraps into a program, run as well."""
    cases = {"inputs": ["[1, 2]\n3", "[]\n0"], "outputs": ["6", "0"], "fn_name": "total"}
    said = "```python\nclass Solution:\n    def total(self, xs, more):\n        return sum(xs) + more\n```"
    got, metadata = sandbox_fusion.compute_score(url, None, 1024, said, cases, continuous=True, timeout=5)
    assert got == 1.0, metadata


def test_default_compute_score(url):
    """Promise: verl's default score of a row of code asks this server when its sandbox_fusion_url names it."""
    got = default_compute_score("codecontests", GOOD, json.dumps(CASES), sandbox_fusion_url=url)
    assert got == 1.0


def test_responses(url):
    """Promise: a response has SandboxFusion's fields; what the sandbox cannot run is its error, never an empty output."""
    ask = lambda **more: requests.post(url, json={"language": "python", "run_timeout": 2, **more}, timeout=60)  # noqa: E731
    got = ask(code="import sys\nprint('é\\x07')\nprint('no', file=sys.stderr)\nsys.exit(3)").json()
    ran = {"status": "Finished", "execution_time": None, "return_code": 3, "stdout": "é\x07\n", "stderr": "no\n"}
    assert got == {"status": "Failed", "message": "", "compile_result": None, "run_result": ran, "executor_pod_name": None, "files": {}}
    assert ask(code="int main(){}", language="cpp").json()["status"] == "SandboxError"
    refused = ask(code="1", files={"a.txt": "eA=="})
    assert refused.status_code == 422 and "programs have no files" in refused.text


def test_published_client(url):
    """Promise: SandboxFusion's own client, as published, reads the responses."""
    published.set_endpoint(url.removesuffix("/run_code"))
    got = published.run_code(published.RunCodeRequest(code="print(input() * 2)", stdin="ab", language="python"))
    assert got.status == published.RunStatus.Success and got.run_result.stdout == "abab\n" and got.run_result.return_code == 0
