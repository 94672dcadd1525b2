"""NeMo Gym 0.4.0, as published, against a server: its simple_agent, with Merit as the resources server."""

import json
import os
import shutil
import subprocess
import sys

import http_clients
import http_server
import pytest
import requests
import yaml

ROW = {"responses_create_params": {"input": [{"role": "user", "content": "2 + 2?"}]}, "expected_answer": "4", "uuid": "a"}


def says(text):
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return [{"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": content}]


def run(port, turns, row=ROW):
    with http_clients.nemo_gym("127.0.0.1", port, turns) as agent:
        return requests.post(f"{agent}/run", json=row, timeout=60)


@pytest.fixture(scope="module")
def port(tmp_path_factory):
    """The server as Gym starts it: app.py of the example, in its folder, with what Gym puts into the environment."""
    folder = tmp_path_factory.mktemp("gym")
    with http_server.serving(folder):  # for its files: it ends at once
        pass
    config = yaml.safe_load((folder / "resources_servers/merit/configs/merit.yaml").read_text())
    port = http_server.free_port()
    config["merit"]["resources_servers"]["merit"].update(host="127.0.0.1", port=port)
    environment = {
        **os.environ,
        "NEMO_GYM_CONFIG_DICT": json.dumps(config),
        "NEMO_GYM_CONFIG_PATH": "merit",
        "MERIT_BINARY": http_server.program(),
    }
    process = subprocess.Popen([sys.executable, "app.py"], cwd=folder / "resources_servers/merit", env=environment)
    try:
        http_server.wait_for(f"http://127.0.0.1:{port}/healthz")
        yield port
    finally:
        process.terminate()
        assert process.wait(60) == 0


@pytest.fixture(scope="module")
def failing(tmp_path_factory):
    """A server whose default reward has no score, with a number in its place."""
    with http_server.serving(tmp_path_factory.mktemp("serve"), "default_reward=failing", "on_unscored=-1") as url:
        yield url


def test_example(port):
    """Promise: Gym's agent seeds a session, plays, and gets back its row with the reward and the metrics."""
    answer = run(port, [says("It is 4")])
    assert answer.status_code == 200, answer.text
    got = answer.json()
    assert (got["reward"], got["merit_outcome"], got["merit_unscored"], got["brevity"]) == (1.0, "scored", 0, 1 / 7)
    assert (got["uuid"], got["expected_answer"], got["response"]["output"][0]["content"][0]["text"]) == ("a", "4", "It is 4")
    assert "_ng_failure_class" not in got
    assert run(port, [says("It is 5")]).json()["reward"] == 0.0


def test_their_configuration(tmp_path, monkeypatch):
    """Promise: Gym's own parser takes the configuration of the example and refers the agent to the server."""
    arguments = "+config_paths=[resources_servers/merit/configs/merit.yaml,responses_api_models/openai_model/configs/openai_model.yaml]"
    monkeypatch.delenv("NEMO_GYM_CONFIG_DICT", raising=False)
    shutil.copytree(http_server.EXAMPLES, tmp_path, dirs_exist_ok=True)
    program = (
        "import json\nfrom nemo_gym.global_config import get_global_config_dict as get\n"
        "print(json.dumps(dict(get().merit.resources_servers.merit)))"
    )
    command = [sys.executable, "-c", program, arguments, "+policy_base_url=x", "+policy_api_key=x", "+policy_model_name=x"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    got = json.loads(done.stdout.splitlines()[-1])
    assert (got["entrypoint"], got["settings"], got["host"]) == ("app.py", "../../serve.yaml", "127.0.0.1")
    assert got["port"] > 0


def test_unscored(failing):
    """Promise: an evaluation without a score has the number that was chosen, and is marked as a failure, which Gym
    keeps out of its results."""
    from nemo_gym.rollout_collection import NG_FAILURE_CLASS_KEY

    got = run(int(failing.rsplit(":", 1)[1]), [says("LOOP")]).json()
    assert (got["reward"], got["merit_unscored"], got[NG_FAILURE_CLASS_KEY]) == (-1.0, 1, "merit_out_of_fuel")
    assert http_server.counted(failing, "NeMo Gym") == 1


def test_error(port):
    """Promise: where nobody chose a number, the rollout fails with the reason; it is not repeated."""
    before = http_server.counted(f"http://127.0.0.1:{port}", "NeMo Gym")
    answer = run(port, [says("4")], {k: v for k, v in ROW.items() if k != "expected_answer"})
    assert answer.status_code == 500 and "there is no ground truth" in answer.text
    assert http_server.counted(f"http://127.0.0.1:{port}", "NeMo Gym") == before + 1


def test_aggregates(port):
    """Promise: the profile of a run is the one that Gym's own servers compute."""
    from nemo_gym.reward_profile import compute_aggregate_metrics

    rows = [
        {"_ng_task_index": i // 2, "_ng_rollout_index": i % 2, "reward": i / 3, "merit_unscored": 0, "length": i * i, "ok": i > 1}
        for i in range(6)
    ]
    rows[0]["response"] = {"usage": {"input_tokens": 3}}
    mine = requests.post(f"http://127.0.0.1:{port}/aggregate_metrics", json={"verify_responses": rows}, timeout=30).json()
    theirs = compute_aggregate_metrics(rows)
    assert mine["agent_metrics"] == pytest.approx({k: v for k, v in theirs.agent_metrics.items() if k in mine["agent_metrics"]})
    assert set(theirs.agent_metrics) == set(mine["agent_metrics"])
    assert mine["key_metrics"] == pytest.approx(theirs.key_metrics)
    for ours, group in zip(mine["group_level_metrics"], theirs.group_level_metrics):
        assert ours == pytest.approx({k: group[k] for k in ours}) and set(ours) >= {k for k in group if "/" in k}
