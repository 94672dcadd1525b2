def brittle(completion, answer) -> float:
    """verifiers logs the exception and counts 0.0; here it is no score."""
    return float(completion[-1]["content"].split("<answer>")[1].split("</answer>")[0] == answer)
