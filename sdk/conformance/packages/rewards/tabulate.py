from tabulate import tabulate


def reward(messages, ground_truth):
    rows = [line.split(",") for line in ground_truth.splitlines()]
    return float(messages[-1]["content"].strip() == tabulate(rows, headers="firstrow", tablefmt="github"))
