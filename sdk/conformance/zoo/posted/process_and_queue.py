# simpleRL-zoo: multiprocessing with timeout around the grader; QwQ format
import re, multiprocessing
from multiprocessing import Process, Queue
def hf_verify(q, gold, target):
    q.put(float(re.sub(r"\s", "", gold) == re.sub(r"\s", "", target)))
def hf_verify_with_try(gold, target, timeout=5):
    q = Queue()
    p = Process(target=hf_verify, args=(q, gold, target))
    p.start()
    p.join(timeout)
    if p.is_alive():
        p.terminate(); p.join()
        return False
    return q.get() if not q.empty() else False
def extract_last_boxed(text):
    pattern = r'\\boxed\{((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}'
    matches = list(re.finditer(pattern, text))
    return matches[-1].group(0) if matches else None
def compute_score(solution_str, ground_truth, method='strict'):
    extract_answer = extract_last_boxed(solution_str)
    if extract_answer is None:
        return {"score": -0.5, "correctness": False}
    ok = hf_verify_with_try(f"\\boxed{{{ground_truth}}}", extract_answer)
    return {"score": 1.0 if ok else -0.5, "correctness": bool(ok)}
