"""NeMo Gym 0.4.0, as published, against a server: its simple_agent, with Merit as the resources server."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
from types import SimpleNamespace

import aiohttp
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


def collected(folder, port, said, resume):
    """What Gym's own collection of rollouts leaves in its two files: the results, and the failed attempts."""
    from nemo_gym.rollout_collection import RolloutCollectionConfig, RolloutCollectionHelper

    async def collect(config, agent):
        # Gym's client is one for a process, and the agent has it, in another loop.
        async with aiohttp.ClientSession() as session:

            class Helper(RolloutCollectionHelper):
                def setup_server_client(self, *_):
                    return SimpleNamespace(post=lambda server_name, url_path, json: session.post(agent + url_path, json=json))

            await Helper().run_from_config(config)

    with http_clients.nemo_gym("127.0.0.1", port, [says(said)]) as agent:
        (folder / "rows.jsonl").write_text(json.dumps(ROW) + "\n")
        config = RolloutCollectionConfig(
            agent_name="agent",
            input_jsonl_fpath=str(folder / "rows.jsonl"),
            output_jsonl_fpath=str(folder / "rollouts.jsonl"),
            resume_from_cache=resume,
            upload_rollouts_to_wandb=False,
            disable_aggregation=True,
        )
        asyncio.run(collect(config, agent))
    return [[json.loads(x) for x in (folder / name).read_text().splitlines()] for name in ("rollouts.jsonl", "rollouts_failures.jsonl")]


def test_a_deterministic_failure_is_not_collected_again(tmp_path, failing):
    """Promise: Gym's collection keeps a failure of the reward out of its results, with the reason, and never tries it again."""
    port = int(failing.rsplit(":", 1)[1])
    results, failures = collected(tmp_path, port, "LOOP", resume=False)
    assert results == [] and len(failures) == 1
    got = failures[0]
    assert (got["_ng_failure_class"], got["_ng_failure_terminal"], got["failure_reason"]) == ("merit_out_of_fuel", True, "out_of_fuel")
    assert got["errors"] and got["errors"][0].startswith("out_of_fuel")
    assert collected(tmp_path, port, "4", resume=True) == [[], failures]


def test_a_failure_of_the_infrastructure_is_collected_again(tmp_path, failing):
    """Promise: what the infrastructure lost is a failure that Gym tries again, and that has a score then."""
    with http_server.serving(tmp_path / "slow", "default_reward=failing", "on_unscored=-1", "sandbox={fuel: 10000000000, wall_clock: 300ms}") as slow:
        results, failures = collected(tmp_path, int(slow.rsplit(":", 1)[1]), "LOOP", resume=False)
    assert results == [] and len(failures) == 1
    assert (failures[0]["_ng_failure_class"], failures[0]["failure_reason"]) == ("judge_failed", "timeout")
    assert "_ng_failure_terminal" not in failures[0]
    results, again = collected(tmp_path, int(failing.rsplit(":", 1)[1]), "4", resume=True)
    assert again == failures and [r["reward"] for r in results] == [1.0]
    assert not any(k.startswith("_ng_failure") for k in results[0])


def test_null(tmp_path):
    """Promise: null in place of a number is refused by Gym's agent with its own error: it is never 0."""
    with http_server.serving(tmp_path, "default_reward=failing", "on_unscored=null") as url:
        answer = run(int(url.rsplit(":", 1)[1]), [says("LOOP")])
    assert answer.status_code == 500 and "reward" in answer.text


def test_reverify_mode(failing):
    """Promise: Gym's newer versions may verify again, because a reward keeps no state."""
    assert requests.get(f"{failing}/reverify_mode", timeout=30).json() == "stateless"
