import jiwer


def reward(messages, ground_truth):
    """One less the share of wrong words of a transcript."""
    return 1 - jiwer.wer(ground_truth, messages[-1]["content"])
