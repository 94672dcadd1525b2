"""eval-protocol 0.3.33, as published, against a server: RewardFunction in mode "remote", and its EvaluateResult."""

import http_clients
import http_server
import pytest
import requests

CHAT = [{"role": "user", "content": "2 + 2?"}]


def chat(text):
    return [*CHAT, {"role": "assistant", "content": text}]


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    with http_server.serving(tmp_path_factory.mktemp("serve")) as url:
        yield url


def test_example(url, monkeypatch):
    """Promise: the example of the docs gets score, reason and metrics from the server."""
    text = (http_server.EXAMPLES / "eval_protocol_remote.py").read_text().replace("http://127.0.0.1:8700", url)
    names = {"__name__": "example"}
    exec(compile(text, "eval_protocol_remote.py", "exec"), names)
    result = names["reward"](chat("It is 4"), ground_truth="4")
    assert (result.score, result.reason, result.is_score_valid) == (1.0, "right", True)
    assert (result.metrics["brevity"].score, result.metrics["brevity"].is_score_valid) == (1 / 7, True)
    assert names["reward"](chat("It is 5"), ground_truth="4").score == 0.0


def test_ground_truth_by_default(url):
    """Promise: without a ground truth the client sends the messages but the last, and the reward gets those."""
    assert http_clients.eval_protocol(f"{url}/evaluate", chat("It is 4")).reason == "wrong"


@pytest.mark.parametrize("said, outcome", [("LOOP", "out_of_fuel"), ("RAISE", "guest_error")])
def test_unscored(url, said, outcome):
    """Promise: without a score the client raises, at once; a number is there only if somebody chose it."""
    endpoint = f"{url}/v1/rewards/failing/evaluate"
    before = http_server.counted(url, "eval-protocol")
    with pytest.raises(requests.HTTPError) as raised:
        http_clients.eval_protocol(endpoint, chat(said), "4")
    assert raised.value.response.status_code == 422
    assert raised.value.response.headers["Merit-Outcomes"] == f"{outcome}=1"
    assert outcome in raised.value.response.json()["detail"]
    assert http_clients.eval_protocol(f"{endpoint}?on_unscored=-1", chat(said), "4").score == -1.0
    assert http_server.counted(url, "eval-protocol") == before + 2


def test_null_is_refused(url):
    """Promise: null, which EvaluateResult cannot hold, is refused at once."""
    with pytest.raises(requests.HTTPError, match="400"):
        http_clients.eval_protocol(f"{url}/evaluate?on_unscored=null", chat("4"), "4")


def test_their_model(url):
    """Promise: the whole answer is an EvaluateResult; without a score it is marked, and the reason is there."""
    from eval_protocol.generic_server import EvaluationRequest
    from eval_protocol.models import EvaluateResult

    def asked(said, query=""):
        body = EvaluationRequest(messages=chat(said), ground_truth="4", kwargs={"level": "easy"}).model_dump()
        answer = requests.post(f"{url}/v1/rewards/failing/evaluate{query}", json=body, timeout=30)
        answer.raise_for_status()
        return EvaluateResult(**answer.json())

    assert (asked("It is 4").score, asked("It is 4").is_score_valid) == (1.0, True)
    none = asked("RAISE", "?on_unscored=0.5")
    assert (none.score, none.is_score_valid) == (0.5, False)
    assert none.error is not None and none.error.startswith("guest_error") and "as the test asked for" in none.error


def test_health(url):
    """Promise: the health check of its generic server is there."""
    assert http_server.get(f"{url}/health") == {"status": "ok", "reward_function": "answer"}


def test_keys(tmp_path):
    """Promise: the key goes as RewardFunction sends it; without one, and with a wrong one, it raises."""
    import subprocess

    (tmp_path / "tenants.yaml").write_text("tenants: [{name: search}]\n")
    new = [http_server.program(), "serve", "key", "new", "search", "--tenants", str(tmp_path / "tenants.yaml")]
    done = subprocess.run(new, capture_output=True, text=True, check=True)
    key = next(word for word in done.stdout.split() if word.startswith("merit_"))
    with http_server.serving(tmp_path, f"tenants={tmp_path}/tenants.yaml") as url:
        assert http_clients.eval_protocol(f"{url}/evaluate", chat("4"), "4", key=key).score == 1.0
        for wrong in ("", "merit_wrong"):
            with pytest.raises(requests.HTTPError, match="401"):
                http_clients.eval_protocol(f"{url}/evaluate", chat("4"), "4", key=wrong)
