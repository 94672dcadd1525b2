import yaml


def reward(messages, ground_truth):
    try:
        return float(yaml.safe_load(messages[-1]["content"]) == yaml.safe_load(ground_truth))
    except yaml.YAMLError as e:
        return -0.1 * e.problem_mark.line
