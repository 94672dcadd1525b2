import os


def logged(completions, answer, **kwargs):
    """Keeps a log beside the run, and is wrong to swallow that it could not."""
    scores = [float(a in c[0]["content"]) for c, a in zip(completions, answer)]
    try:
        os.makedirs("completion_samples", exist_ok=True)
        with open(os.path.join("completion_samples", "success.txt"), "a") as f:
            f.write(f"{scores}\n")
    except OSError:
        return [0.0] * len(scores)
    return scores
