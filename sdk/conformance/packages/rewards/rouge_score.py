from rouge_score import rouge_scorer

scorer = rouge_scorer.RougeScorer(["rouge1", "rougeL"], use_stemmer=True)


def reward(messages, ground_truth):
    scores = scorer.score(ground_truth, messages[-1]["content"])
    return scores["rouge1"].fmeasure + scores["rougeL"].fmeasure
