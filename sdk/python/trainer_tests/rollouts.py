"""`merit rollout` with a plug-in of verifiers, whose policy is a model that a test scripts."""

import contextlib
import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import http_server

CONFIG = """
seed: 1
environment: {{plugin: ./plugin.py, slots: 2, options: {options}, start_timeout: 120s, reset_deadline: 60s, batch_deadline: 60s}}
policy: {{plugin: openai, options: {{url: "{url}/v1", model: scripted, temperature: 0}}}}
rewards: [{{environment: true}}]
rollout: {{groups: 2, members: 2, max_steps: 8, action: {action}}}
"""


@contextlib.contextmanager
def model(say):
    """The address of a server whose answers are texts, or tool calls: say(request)."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            said = say(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            message = {"role": "assistant", "content": said} if isinstance(said, str) else {"role": "assistant", "content": None, "tool_calls": said}
            choice = {"index": 0, "message": message, "finish_reason": "stop" if isinstance(said, str) else "tool_calls"}
            usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
            self.answer({"id": "x", "object": "chat.completion", "created": 0, "model": "scripted", "choices": [choice], "usage": usage})

        def do_GET(self):
            self.answer({"object": "list", "data": [{"id": "scripted", "object": "model"}]})

        def answer(self, said):
            body = json.dumps(said).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def rollout(folder: Path, plugin: str, say, options: str = "{}", action: str = "{}"):
    """The finished process of merit rollout, and its episodes."""
    (folder / "plugin.py").write_text(plugin)
    with model(say) as url:
        (folder / "rollout.yaml").write_text(CONFIG.format(url=url, options=options, action=action))
        environment = {**os.environ, "MERIT_PLUGIN_PYTHON": sys.executable, "PYTHONPATH": str(folder)}
        command = [http_server.program(), "rollout", "-c", "rollout.yaml", "--out", "episodes.jsonl"]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
    written = folder / "episodes.jsonl"
    return done, [json.loads(line) for line in written.read_text().splitlines()] if written.exists() else []
