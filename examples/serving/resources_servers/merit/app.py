"""Merit as a resources server of NeMo Gym: Gym starts this file, which becomes `merit serve rewards` at the host and port
that Gym has chosen for it. What other settings the server has stands in merit.yaml under `settings`."""

import os

import yaml

server = next(iter(yaml.safe_load(os.environ["NEMO_GYM_CONFIG_DICT"])[os.environ["NEMO_GYM_CONFIG_PATH"]].values()))["merit"]
merit = os.environ.get("MERIT_BINARY", "merit")
os.execvp(merit, [merit, "serve", "rewards", "-c", server["settings"], "--listen", f"{server['host']}:{server['port']}"])
