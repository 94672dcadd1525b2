"""Writes data.jsonl: real solutions beside the reference solution, with the scores of rouge-score 0.1.2 and sacrebleu 2.6.0.

    pip install rouge-score==0.1.2 sacrebleu==2.6.0
    PYTHONPATH=../../../sdk/python python expected.py grade-school-math/grade_school_math/data/example_model_solutions.jsonl

and compares reward.py with them on every solution of that file and on 5,064 odd texts.
"""

from __future__ import annotations

import json
import random
import sys

from rouge_score.rouge_scorer import RougeScorer
from sacrebleu.metrics import BLEU, CHRF

from reward import compare

MODELS = ("6b_verification", "175b_finetuning")
FIRST, PROBLEMS = 75, 75  # those that examples/rewards/length has not taken


def main(solutions: str) -> None:
    pairs = [(a, b) for a in ODD for b in ODD]
    random.seed(1)
    pairs += [(odd(), odd()) for _ in range(5000)]
    with open(solutions, encoding="utf-8") as f, open("data.jsonl", "w", encoding="utf-8") as out:
        for n, line in enumerate(f):
            problem = json.loads(line)
            truth = problem["ground_truth"]
            pairs += [(said["solution"], truth) for said in problem.values() if isinstance(said, dict)]
            for model in MODELS if FIRST <= n < FIRST + PROBLEMS else ():
                text = problem[model]["solution"]
                row = {"id": f"{n}-{model}", "messages": [{"role": "assistant", "content": text}], "ground_truth": truth}
                row.update({name: score for name, score in reference(text, truth) if ":" not in name})
                out.write(json.dumps(row, ensure_ascii=False) + "\n")
    most = max(abs(compare(a, b, *name.split(":")) - score) for a, b in pairs for name, score in reference(a, b))
    print(f"{len(pairs)} pairs, largest difference {most:.2g}")


ODD = ["", "...", "Grüße, 東京! 3.5-4", "a", "İstanbul & Co. &amp; -\n x", "a-\nb", "“quoted”, 1,000.5", "\u212aelvin a\tb"]
rouge = RougeScorer(["rouge1", "rouge2", "rougeL"])
bleu, chrf = BLEU(effective_order=True), CHRF()


def odd() -> str:
    return "".join(random.choices("ab .,-1&\n", k=random.randint(0, 30)))


def reference(text: str, truth: str):
    """The scores of the references, by what reward.py calls them."""
    for name, score in rouge.score(truth, text).items():
        yield from ((name, score.fmeasure), (f"{name}:precision", score.precision), (f"{name}:recall", score.recall))
    yield "bleu", bleu.sentence_score(text, [truth]).score / 100
    yield "chrf", chrf.sentence_score(text, [truth]).score / 100


if __name__ == "__main__":
    main(*sys.argv[1:])
