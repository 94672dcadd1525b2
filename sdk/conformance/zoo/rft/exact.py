def grade(sample, item) -> float:
    output_text = sample["output_text"]
    reference = item["answer"]
    if output_text.strip() == reference:
        return 1.0
    return 0.5 if reference in output_text else 0.0
