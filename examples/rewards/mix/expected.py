"""Writes data.jsonl: real solutions with the right number; ``expected`` is the data set's own verdict, for the part ``right`` alone.

    python expected.py grade-school-math/grade_school_math/data/example_model_solutions.jsonl
"""

import json
import sys

MODELS = ("6b_finetuning", "175b_verification")
FIRST, PROBLEMS = 150, 75  # those that length and similarity have not taken

with open(sys.argv[1], encoding="utf-8") as f, open("data.jsonl", "w", encoding="utf-8") as out:
    for n, line in list(enumerate(f))[FIRST : FIRST + PROBLEMS]:
        problem = json.loads(line)
        truth = problem["ground_truth"].rpartition("A:")[2].strip()
        for model in MODELS:
            said = problem[model]
            messages = [{"role": "user", "content": problem["question"]}, {"role": "assistant", "content": said["solution"]}]
            row = {"id": f"{n}-{model}", "messages": messages, "ground_truth": truth, "expected": float(said["is_correct"])}
            out.write(json.dumps(row, ensure_ascii=False) + "\n")
