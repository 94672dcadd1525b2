# ToolRL: format + correctness on <tool_call> json lines
import json, re, os
from collections import Counter
def match_score(l1, l2):
    if l1 == l2: return 1.0
    if not l1 or not l2: return 0.0
    c1, c2 = Counter(l1), Counter(l2)
    inter = sum(min(c1[k], c2[k]) for k in c1.keys() & c2.keys())
    return inter / (len(l1) + len(l2) - inter)
def compute_tool_call_reward(gt, pd, maxr=3, minr=-3):
    score = match_score([t["name"] for t in gt], [t["name"] for t in pd])
    local_max, used = 1.0, []
    for t in gt:
        best, bi = 0.0, -1
        for i, p in enumerate(pd):
            if i in used or p["name"] != t["name"]: continue
            s = match_score(list(t["parameters"]), list(p["parameters"])) + sum(p["parameters"].get(k) == v for k, v in t["parameters"].items())
            if s > best: best, bi = s, i
        local_max += 1 + len(t["parameters"])
        if bi >= 0: used.append(bi); score += best
    return (maxr - minr) * score / local_max + minr
def compute_score(solution_str, ground_truth, step=0):
    if "<|im_start|>assistant" in solution_str: solution_str = solution_str.split("<|im_start|>assistant")[-1]
    fmt = 1.0 if re.search(r"^<think>.*?</think>\n<tool_call>\n.*?\n</tool_call>$", solution_str, re.DOTALL) else 0.0
    try:
        gt = [json.loads(x) for x in ground_truth.split("<tool_call>")[1].split("</tool_call>")[0].strip().split("\n")]
        pd = [json.loads(x) for x in solution_str.split("<tool_call>")[1].split("</tool_call>")[0].strip().split("\n")]
        corr = compute_tool_call_reward(gt, pd)
    except (ValueError, IndexError, KeyError):
        corr = -3
    return fmt + corr, fmt, corr, 0
