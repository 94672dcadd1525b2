import random
import re
import string


def normalize_answer(s):
    def remove_articles(text):
        return re.sub(r"\b(a|an|the)\b", " ", text)

    def white_space_fix(text):
        return " ".join(text.split())

    def remove_punc(text):
        return "".join(ch for ch in text if ch not in set(string.punctuation))

    return white_space_fix(remove_articles(remove_punc(s.lower())))


def em_check(prediction, golden_answers):
    if isinstance(golden_answers, str):
        golden_answers = [golden_answers]
    return int(any(normalize_answer(g) == normalize_answer(prediction) for g in golden_answers))


def compute_score(solution_str, ground_truth, method="strict", format_score=0.1, score=1.0):
    matches = list(re.finditer(r"<answer>(.*?)</answer>", solution_str, re.DOTALL))
    do_print = random.randint(1, 64) == 1
    if do_print:
        print(f"Golden answers: {ground_truth}\nSolution string: {solution_str}")
    if not matches:
        return 0
    return score if em_check(matches[-1].group(1).strip(), ground_truth) else format_score
