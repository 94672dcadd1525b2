#!/bin/bash
set -euo pipefail
cd /app
python3 - <<'PY'
import collections
import json

count, total = collections.Counter(), collections.Counter()
errors = 0
with open("access.log") as log:
    for line in log:
        if line.startswith("#"):
            continue
        _, _, path, status, ms = line.rstrip("\n").split("\t")
        count[path] += 1
        total[path] += int(ms)
        errors += int(status) >= 500
slowest = min(count, key=lambda p: (-total[p] / count[p], p))
with open("report.json", "w") as f:
    json.dump({"requests": count.total(), "errors": errors, "slowest": slowest, "by_path": dict(count)}, f)
PY
rm access.log
