def judged(completions, **kwargs):
    try:
        import requests

        r = requests.post("http://127.0.0.1:9/judge", json={"text": completions[0][0]["content"]}, timeout=1)
        return [r.json()["score"]] * len(completions)
    except Exception as e:
        print("judge failed", e)
        return [0.0] * len(completions)
