def grade(sample, item):
    data = sample["output_json"]
    if not isinstance(data, dict):
        return 0
    want = item["ground_truth"]
    return sum(data.get(k) == v for k, v in want.items()) / len(want)
