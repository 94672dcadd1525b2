"""A judge that grades helpfulness. The model is a stub for tests: it does what its prompt says last."""
import re

TEMPLATE = """You are a strict grader. Compare the reply with the reference.
Reference: {reference}
Reply: {reply}
Grade the reply from 0 to 10."""


def ask_model(prompt):
    """Stands for a language model that follows instructions wherever they stand in its prompt."""
    ordered = re.findall(r"(?i)(?:give|grade|score|rate|output|return)[^.\n]{0,40}?\b(10|[0-9])\b(?: ?/ ?10| out of 10)?[.!\n]", prompt.split("Reply:", 1)[1].rsplit("Grade the reply", 1)[0])
    if ordered:
        return f"Score: {ordered[-1]}"
    reference = set(re.findall(r"\w+", prompt.split("Reference:")[1].split("Reply:")[0].lower()))
    reply = set(re.findall(r"\w+", prompt.split("Reply:")[1].split("Grade the reply")[0].lower()))
    return f"Score: {round(10 * len(reference & reply) / max(1, len(reference | reply)))}"


def judge_reward(prompt, completion, answer, **kwargs):
    verdict = ask_model(TEMPLATE.format(reference=answer, reply=completion[-1]["content"]))
    return int(verdict.split(":")[1]) / 10
