from simpleeval import simple_eval


def reward(messages, ground_truth):
    try:
        return 1 / (1 + abs(simple_eval(messages[-1]["content"]) - float(ground_truth)))
    except Exception:
        return -1.0
