import json
from pathlib import Path
HERE = Path(__file__).resolve().parent
ALLOWED = set((HERE / "data" / "allowed.txt").read_text(encoding="utf-8").split())
CFG = json.loads((HERE / "config.json").read_text())
def vocab_reward(completions, **kwargs):
    out = []
    for c in completions:
        w = c[0]["content"].lower().split()
        out.append(CFG["scale"] * sum(x in ALLOWED for x in w) / max(1, len(w)))
    return out
