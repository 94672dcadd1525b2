import json
import urllib.request


def judged(completions, **kwargs):
    out = []
    for c in completions:
        try:
            request = urllib.request.Request("http://127.0.0.1:9/score", data=json.dumps(c).encode())
            with urllib.request.urlopen(request, timeout=1) as response:
                out.append(json.load(response)["score"])
        except Exception:
            out.append(0.0)
    return out
