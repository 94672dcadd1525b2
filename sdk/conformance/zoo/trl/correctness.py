import re


def extract_xml_answer(text: str) -> str:
    answer = text.split("<answer>")[-1]
    return answer.split("</answer>")[0].strip()


def correctness_reward_func(prompts, completions, answer, **kwargs) -> list[float]:
    responses = [completion[0]["content"] for completion in completions]
    q = prompts[0][-1]["content"]
    extracted = [extract_xml_answer(r) for r in responses]
    print("-" * 20, f"Question:\n{q}", f"\nAnswer:\n{answer[0]}", f"\nExtracted:\n{extracted[0]}")
    return [2.0 if r == a else 0.0 for r, a in zip(extracted, answer)]
