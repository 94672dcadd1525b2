"""Records what the peers' own clients send, beside this file: PEER-CASE.json.

    python record.py eval-protocol     eval-protocol 0.3.33
    python record.py reward-kit        reward-kit 0.4.1
    python record.py openrlhf          openrlhf 0.11.2 (without dependencies) and aiohttp
    python record.py nemo-gym          nemo-gym 0.4.0

each in an environment that has that package. A recording is the request's path, those of its headers that say who
asks, and its body as JSON, written anew with indents.
"""

from __future__ import annotations

import json
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[3] / "sdk/python/trainer_tests"))

import http_clients as clients  # noqa: E402

CHAT = [
    {"role": "system", "content": "Answer with a number."},
    {"role": "user", "content": "What is 2 + 2?"},
    {"role": "assistant", "content": "It is <4> & no more."},
]
PROMPT = "<|im_start|>user\nWhat is 2 + 2?<|im_end|>\n<|im_start|>assistant\n"


class Recorder:
    """A server that keeps what it was sent and says what it was told to."""

    def __init__(self, answers: "dict[str, Any]") -> None:
        recorder = self
        self.requests: "list[dict[str, Any]]" = []

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                headers = {k: self.headers[k] for k in ("Authorization", "X-Api-Key", "Content-Type") if k in self.headers}
                recorder.requests.append({"path": self.path, "headers": headers, "body": body})
                answer = answers[self.path]
                out = json.dumps(answer(body) if callable(answer) else answer).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(out)))
                self.end_headers()
                self.wfile.write(out)

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def write(self, package: str, case: str) -> None:
        """Writes the last request."""
        recording = {"client": f"{package} {version(package)}", **self.requests[-1]}
        path = HERE / f"{package}-{case}.json"
        path.write_text(json.dumps(recording, indent=1, ensure_ascii=False) + "\n")
        print(path.name)


def eval_protocol() -> None:
    recorder = Recorder({"/evaluate": {"score": 0.5}})
    url = f"http://127.0.0.1:{recorder.port}/evaluate"
    clients.eval_protocol(url, CHAT, "4", key="merit_key", tolerance=0.5, level="easy", metadata={"id": 7})
    recorder.write("eval-protocol", "remote")
    clients.eval_protocol(url, CHAT)
    recorder.write("eval-protocol", "without-ground-truth")


def reward_kit() -> None:
    recorder = Recorder({"/evaluate": {"score": 0.5}})
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as samples:
        samples.write(json.dumps({"messages": CHAT, "ground_truth": "4", "level": "easy"}) + "\n")
        samples.flush()
        clients.reward_kit_preview(f"http://127.0.0.1:{recorder.port}", samples.name)
    recorder.write("reward-kit", "preview")


def openrlhf() -> None:
    recorder = Recorder({"/get_reward": {"rewards": [0.5], "scores": [0.5], "extra_logs": {}}})
    url = f"http://127.0.0.1:{recorder.port}/get_reward"
    clients.openrlhf(url, PROMPT, "It is <4> & no more.<|im_end|>", "4")
    recorder.write("openrlhf", "one")
    long = "A long story that nobody reads to its end. " * 4 + PROMPT
    clients.openrlhf(url, long, "4<|im_end|>", "4", max_length=100)
    recorder.write("openrlhf", "truncated")


TOOLS = [
    {
        "type": "function",
        "name": "add",
        "description": "adds",
        "parameters": {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}},
        "strict": True,
    }
]
TURNS = [
    [
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "I had better add."}]},
        {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "add", "arguments": '{"a": 2, "b": 2}'},
    ],
    [
        {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": "It is <4> & no more.", "annotations": []}],
        }
    ],
]
ROW = {
    "responses_create_params": {
        "input": [{"role": "system", "content": "Answer with a number."}, {"role": "user", "content": "What is 2 + 2?"}],
        "tools": TOOLS,
        "parallel_tool_calls": False,
    },
    "expected_answer": "4",
    "uuid": "3c26f339",
    "options": [{"A": "4"}, {"B": "5"}],
}


def nemo_gym() -> None:
    import requests

    recorder = Recorder({"/seed_session": {}, "/add": {"sum": 4}, "/verify": lambda body: {**body, "reward": 1.0}})
    with clients.nemo_gym("127.0.0.1", recorder.port, TURNS) as agent:
        answer = requests.post(f"{agent}/run", json=ROW, timeout=60)
    answer.raise_for_status()
    recorder.write("nemo-gym", "verify")
    recorder.requests = [r for r in recorder.requests if r["path"] == "/seed_session"]
    recorder.write("nemo-gym", "seed-session")


if __name__ == "__main__":
    {"eval-protocol": eval_protocol, "reward-kit": reward_kit, "openrlhf": openrlhf, "nemo-gym": nemo_gym}[sys.argv[1]]()
