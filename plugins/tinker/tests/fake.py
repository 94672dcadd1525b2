"""A Tinker service of one process whose model is one logit a token, whatever came
before; it can be told to fail."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
from tinker.proto import tinker_public_pb2 as pb

VOCABULARY = 259
PROTO = "application/x-protobuf"


class Refused(Exception):
    """What the service says of a request that fails: status and detail."""


class Fake:
    """slots and rank bound what can be made; reduction is what becomes of token
    losses. faults[endpoint] is a list of (status, type, bytes), each used once."""

    def __init__(self, slots=1, rank=8, reduction="mean", models=("fake",)):
        self.slots, self.rank, self.reduction, self.offered = slots, rank, reduction, models
        self.faults, self.calls, self.requests = {}, [], []
        self.published = {}
        self.saved, self.sessions, self.futures, self.count = {}, {}, {}, 0
        self.answer = self.result = None  # change a SampleResponse, a ForwardBackwardOutput before it goes out
        self.closed, self.packing = False, ""  # "gzip" and the like, of all answers
        self.restart()
        fake = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version, wbufsize, disable_nagle_algorithm = "HTTP/1.1", 1 << 16, True

            def do_GET(self):
                self.reply(b"")

            def do_DELETE(self):
                self.reply(b"")

            def do_POST(self):
                self.reply(self.rfile.read(int(self.headers.get("Content-Length", 0))))

            def reply(self, body):
                if fake.closed:
                    self.close_connection = True
                    return
                status, kind, text = fake.serve(self.path.removeprefix("/api/v1/"), self.headers, body)
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(text)))
                if fake.packing:
                    self.send_header("Content-Encoding", fake.packing)
                if 300 <= status < 400:
                    self.send_header("Location", text.decode())
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.handle_error = lambda *_: None  # clients leave as they like
        self.lock = threading.Lock()
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def restart(self):
        """All weights are gone; what was saved is not."""
        self.models = {}

    def close(self):
        self.closed = True
        self.server.shutdown()
        self.server.server_close()

    def serve(self, path, headers, body):
        with self.lock:
            self.calls.append(path)
            if self.faults.get(path):
                return self.faults[path].pop(0)
            if path.startswith("training_runs/"):
                return self.checkpoints(*path.split("/")[1:])
            message = body if headers.get("Content-Type") == PROTO else json.loads(body or b"{}")
            method = getattr(self, "do_" + path.replace("/", "_"), None)
            if method is None:
                return 404, "application/json", b'{"detail": "Not Found"}'
            try:
                result = method(message)
            except Refused as e:
                return e.args[0], "application/json", json.dumps({"detail": e.args[1]}).encode()
            if isinstance(result, bytes):
                return 200, PROTO, result
            return 200, "application/json", json.dumps(result).encode()

    def checkpoints(self, model, _, *name):
        """Lists what a model published, or deletes one."""
        if name:
            self.published[model].remove(name[1])
            return 204, "application/json", b""
        listed = [
            {"checkpoint_id": n, "checkpoint_type": "sampler", "time": f"2026-01-01T00:00:{i:02}Z", "tinker_path": f"tinker://{model}/sampler_weights/{n}"}
            for i, n in enumerate(self.published[model])
        ]
        return 200, "application/json", json.dumps({"checkpoints": listed}).encode()

    def future(self, result):
        self.count += 1
        self.futures[str(self.count)] = result
        return {"request_id": str(self.count)}

    def model(self, name):
        if name not in self.models:
            raise Refused(400, f"Model {name} not loaded")
        return self.models[name]

    def do_healthz(self, _):
        return {"status": "ok"}

    def do_client_config(self, _):
        return {"pjwt_auth_enabled": False}

    def do_create_session(self, _):
        return {"session_id": "session_1", "type": "create_session"}

    def do_session_heartbeat(self, _):
        return {"type": "session_heartbeat"}

    def do_get_server_capabilities(self, _):
        return {"supported_models": [{"model_name": m} for m in self.offered]}

    def do_create_model(self, m):
        self.count += 1
        name = f"model_{self.count}"

        def make():
            if len(self.models) >= self.slots:
                raise Refused(400, "Maximum number of LoRA adapters (2) reached")
            if m["lora_config"]["rank"] > self.rank:
                raise Refused(400, f"LoRA rank {m['lora_config']['rank']} must be between 1 and {self.rank}")
            self.models[name] = {"theta": np.zeros(VOCABULARY), "sum": np.zeros(VOCABULARY), "datums": 0, "first": True}
            return {"model_id": name, "type": "create_model"}

        return {"model_id": name, "type": "create_model", **self.future(make)}

    def do_unload_model(self, m):
        self.models.pop(m["model_id"], None)
        return self.future(lambda: {"model_id": m["model_id"], "type": "unload_model"})

    def do_save_weights_for_sampler(self, m):
        def publish():
            self.count += 1
            self.published.setdefault(m["model_id"], []).append(f"ss{self.count}")
            self.sessions[f"sampling_{self.count}"] = (m["model_id"], self.model(m["model_id"])["theta"].copy())
            return {"path": None, "sampling_session_id": f"sampling_{self.count}", "type": "save_weights_for_sampler"}

        return self.future(publish)

    def do_create_sampling_session(self, m):
        self.count += 1
        self.sessions[f"sampling_{self.count}"] = (None, np.zeros(VOCABULARY))
        return {"sampling_session_id": f"sampling_{self.count}", "type": "create_sampling_session"}

    def do_asample(self, m):
        self.requests.append(m)
        model, theta = self.sessions[m["sampling_session_id"]]
        if model:
            assert (self.model(model)["theta"] == theta).all(), "older weights are sampled"

        def sample():
            p = m["sampling_params"]
            logs = theta - np.log(np.exp(theta).sum())
            dice = np.random.default_rng(p["seed"])
            greedy = p["temperature"] == 0
            tokens = [int(np.argmax(logs)) if greedy else int(dice.choice(VOCABULARY, p=np.exp(logs))) for _ in range(p["max_tokens"])]
            said = pb.SampleResponse()
            said.sequences.add(stop_reason=pb.STOP_REASON_LENGTH, tokens=np.array(tokens, "<i4").tobytes(), logprobs=logs[tokens].astype("<f4").tobytes())
            if self.answer:
                self.answer(said)
            return said.SerializeToString()

        return self.future(sample)

    def do_forward_backward(self, raw):
        m = pb.ForwardBackwardRequest.FromString(raw)
        self.requests.append(m)

        def passes():
            model, out = self.model(m.model_id), pb.ForwardBackwardOutput(loss_fn_output_type="scalar")
            logs = model["theta"] - np.log(np.exp(model["theta"]).sum())
            rows = []
            for d in m.data:
                read = lambda key, kind: np.frombuffer(d.loss_fn_inputs[key].dense, kind)
                target, a, old = read("target_tokens", "<i8"), read("advantages", "<f4").astype(float), read("logprobs", "<f4").astype(float)
                mask = read("weights", "<f4").astype(float) if "weights" in d.loss_fn_inputs else np.ones(len(target))
                ratio = np.exp(logs[target] - old)
                if m.loss_fn == "cispo":
                    ratio = np.clip(ratio, m.loss_fn_config["clip_low_threshold"], m.loss_fn_config["clip_high_threshold"])
                pull = -ratio * a * mask / (max(mask.sum(), 1e-9) if self.reduction == "mean" else 1)
                gradient = np.zeros(VOCABULARY)
                np.add.at(gradient, target, pull)
                model["sum"] += gradient - np.exp(logs) * pull.sum()
                model["datums"] += 1
                rows.append(logs[target].astype("<f4").tobytes())
            ends = np.cumsum([0, *map(len, rows)]).astype("<i8").tobytes()
            columns = pb.BatchedTensor(data=b"".join(rows), offsets=ends, dtype=pb.DTYPE_FLOAT32)
            out.loss_fn_outputs.add(num_datums=len(rows), fields={"logprobs": columns})
            if self.result:
                self.result(out)
            return out.SerializeToString()

        return self.future(passes)

    def do_optim_step(self, m):
        def step():
            model = self.model(m["model_id"])
            gradient = model["sum"] / (max(1, model["datums"]) if self.reduction == "mean" else 1)
            model["gradient"] = gradient
            model["theta"] -= m["adam_params"]["learning_rate"] * gradient
            model["sum"], model["datums"], model["first"] = np.zeros(VOCABULARY), 0, False
            return {"metrics": {"skyrl.ai/grad_norm": float(np.linalg.norm(gradient))}, "type": "optim_step"}

        return self.future(step)

    def do_save_weights(self, m):
        path = f"tinker://{m['model_id']}/weights/{m['path']}"
        if path in self.saved:
            raise Refused(409, f"Checkpoint '{m['path']}' already exists")
        self.saved[path] = self.model(m["model_id"])["theta"].copy()
        return self.future(lambda: {"path": path, "type": "save_weights"})

    def do_load_weights(self, m):
        if m["path"] not in self.saved:
            raise Refused(404, "Checkpoint not found: " + m["path"])

        def load():
            model = self.model(m["model_id"])
            assert model["first"]
            model["theta"] = self.saved[m["path"]].copy()
            return {"path": m["path"], "type": "load_weights"}

        return self.future(load)

    def do_retrieve_future(self, m):
        if m["request_id"] not in self.futures:
            raise Refused(404, "Future not found")
        result = self.futures[m["request_id"]]
        return result() if callable(result) else result

