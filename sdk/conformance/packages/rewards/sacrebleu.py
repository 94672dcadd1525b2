from sacrebleu.metrics import BLEU, CHRF

bleu, chrf = BLEU(effective_order=True), CHRF()


def reward(messages, ground_truth):
    said = messages[-1]["content"]
    return bleu.sentence_score(said, [ground_truth]).score + chrf.sentence_score(said, [ground_truth]).score
